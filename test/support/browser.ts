import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  process.env['AGENTOS_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The system's own; null: there is none, and tests of pages are skipped. */
export const chromiumPath = PLACES.find((path) => path !== '' && existsSync(path)) ?? null;

/** In the name of a skipped test, so that it is seen. */
export const NO_CHROMIUM = chromiumPath === null ? ' (skipped: no Chromium; name one in AGENTOS_CHROMIUM)' : '';

/** It talks to nobody but the pages that are opened. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
