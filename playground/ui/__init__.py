"""The page, in Gradio, which is imported here and nowhere else. `page.mount` puts it into a web application."""

import os

# Before Gradio is imported: it calls nobody, not even to count us.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
