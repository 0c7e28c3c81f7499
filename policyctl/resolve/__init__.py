"""Step 3: presets, defaults and overlays to frozen policies that know their origins."""
