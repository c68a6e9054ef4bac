"""The logs of warehouses: system views, APIs and files, as statements."""
