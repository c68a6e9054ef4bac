"""What a release is made and checked with: the lock, licences, the bill of materials, the audit, the build.

None of it is part of the package. `noxfile.py` calls these as scripts; docs/supply_chain.md says when.
"""
