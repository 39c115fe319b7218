import puppeteer, { type Browser } from 'puppeteer-core';
import { setting } from './step.ts';

/** Chromium, which reaches this machine only. */
export function launchBrowser(): Promise<Browser> {
  return puppeteer.launch({
    executablePath: setting('CHROMIUM'),
    // Chromium refuses its own sandbox to root; and a name that is looked up is a request that leaves.
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.*',
    ],
  });
}
