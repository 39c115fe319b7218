import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { setting } from './step.ts';

/** Chromium, which reaches this machine only. */
export function launchBrowser(): Promise<Browser> {
  return puppeteer.launch({
    executablePath: setting('CHROMIUM'),
    // As wide as pages need for their navigation to stand beside them.
    defaultViewport: { width: 1_280, height: 900 },
    // Chromium refuses its own sandbox to root; and a name that is looked up is a request that leaves.
    args: [
      '--no-sandbox',
      '--disable-background-networking',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.*',
    ],
  });
}

/** Keeps a picture in the folder that `SCREENSHOTS` names; none without, since hundreds of them take a minute. */
export async function picture(page: Page, file: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: path.join(folder, file), ...(file.endsWith('.webp') && { quality: 80 }) });
}
