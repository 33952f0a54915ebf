"""Is there a Chromium that starts?"""

import sys

from playwright.sync_api import Error, sync_playwright

from tests.browser import chromium, launch

try:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        print(f"Chromium {browser.version}{f' ({chromium()})' if chromium() else ''}")
        browser.close()
except Error as error:
    sys.exit(f"no Chromium: {str(error).splitlines()[0]}")
