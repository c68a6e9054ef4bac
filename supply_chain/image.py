"""Gather what docker/Dockerfile is built from, and try it without a network.

    python -m supply_chain.image WHEEL --out dist/image

Writes the Dockerfile, `wheels/` (the package, and what its extras need in the versions and with the hashes of
the lock) and `cache/` (the jars of the Gremlin Server). Then runs the Dockerfile's installation in an empty
environment, and the smoke test of a release in it, both without a network where the system allows it
(`unshare`). Exit code 1 if the smoke test fails.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lineage_merge.infra.embedded.jars import gremlin_jars
from lineage_merge.infra.progress import no_progress

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = ROOT / "docker" / "Dockerfile"
LOCK = ROOT / "supply_chain" / "requirements.txt"
_INSTALL = re.compile(r"pip (install .* --find-links )/wheels \"(lineage-merge\[([\w,]+)\])\"")


def main() -> int:
    """0 if the image's installation works."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="the wheel of the package")
    parser.add_argument("--out", type=Path, default=Path("dist/image"), help="(default: dist/image)")
    arguments = parser.parse_args()
    out = arguments.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    gather(arguments.wheel.absolute(), out)
    return try_out(out)


def installation() -> tuple[list[str], str, list[str]]:
    """Return the Dockerfile's arguments of pip up to the folder of wheels, the requirement, its extras."""
    match = _INSTALL.search(DOCKERFILE.read_text())
    if match is None:
        raise SystemExit(f"{DOCKERFILE}: no installation of the package from /wheels")
    return match[1].split(), match[2], match[3].split(",")


def gather(wheel: Path, out: Path) -> None:
    """Write the folder that the image is built from. Raises `CalledProcessError`."""
    wheels = out / "wheels"
    wheels.mkdir(parents=True)
    shutil.copy(wheel, wheels)
    shutil.copy(DOCKERFILE, out)
    with tempfile.TemporaryDirectory() as folder:
        needed = Path(folder, "requirements.txt")
        words = [
            "uv",
            "pip",
            "compile",
            "--quiet",
            "--no-header",
            "--generate-hashes",
            "--constraint",
            str(LOCK),
        ]
        words += [word for extra in installation()[2] for word in ("--extra", extra)]
        words += ["--no-emit-index-url", "--no-emit-find-links"]
        subprocess.run(
            [*words, "--python", sys.executable, "--output-file", str(needed), "pyproject.toml"],
            cwd=ROOT,
            check=True,
        )
        words = ["pip", "wheel", "--quiet", "--no-deps", "--require-hashes", "--wheel-dir", str(wheels)]
        subprocess.run([sys.executable, "-m", *words, "--requirement", str(needed)], check=True)
    os.environ["LINEAGE_MERGE_CACHE"] = str(out / "cache")
    gremlin_jars(no_progress)


def try_out(image: Path) -> int:
    """Install as the image does, and return the exit code of the smoke test there."""
    options, requirement, _ = installation()
    isolated = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]
    can_isolate = shutil.which("unshare") and shutil.which("ip")
    if not can_isolate or subprocess.run([*isolated, "true"], check=False, capture_output=True).returncode:
        sys.stdout.write("this system cannot run a program without a network: the installation may use it\n")
        isolated = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder}
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        pip = [python, "-m", "pip", "--quiet", *options, str(image / "wheels"), requirement]
        subprocess.run([*isolated, *pip], env=environment, check=True)
        smoke = [python, "-I", str(ROOT / "supply_chain" / "smoke.py"), "--extras", "local"]
        return subprocess.run([*isolated, *smoke], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
