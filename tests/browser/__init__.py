"""Tests that drive the page in headless Chromium."""
