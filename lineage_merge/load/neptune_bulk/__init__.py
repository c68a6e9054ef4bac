"""Large differences through the bulk loader of Neptune."""
