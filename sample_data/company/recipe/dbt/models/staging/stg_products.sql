select sku, category, margin_rate from {{ source("shop", "products") }}
