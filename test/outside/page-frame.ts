import { makeTenant } from '@gatehouse/test/tenants';
import type { Page } from 'puppeteer-core';
import { launchBrowser } from './browser.ts';
import {
  api,
  click,
  credentials,
  faults,
  holdsNothing,
  logInAfresh,
  origin,
  patience,
  settle,
  textOf,
} from './page-driver.ts';
import { check, mustHold } from './step.ts';

/** A part of 32-pages.sh: a chart by keyboard, the theme, the navigation of a phone, and the first request. */

const [phone, desktop] = [360, 1_280];

const groundOf = (page: Page): Promise<unknown> =>
  page.evaluate('getComputedStyle(document.body).backgroundColor');

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.setViewport({ width: desktop, height: 900 });
  await logInAfresh(page, credentials.admin_key, '/app/');

  await check('arrow keys choose a bar of a chart, whose figures are announced', async () => {
    const messages = [{ role: 'user', content: 'Say the word drawbridge.' }];
    await api('/v1/chat/completions', credentials.user_key, { model: 'gpt-4.1-mini', messages });
    const usage = async (): Promise<void> => {
      await page.goto(`${origin}/app/usage?period=7d`);
      await settle(page);
    };
    await usage();
    for (let tries = 0; tries < 60 && (await page.$('.plot canvas')) === null; tries += 1) await usage();
    await page.focus('.plot');
    await page.keyboard.press('End');
    await page.waitForSelector('.bar-figures', patience);
    const spoken = await textOf(page, '.chart [aria-live=polite]');
    const figures = await textOf(page, '.bar-figures');
    const wrong = await faults(page);
    await page.keyboard.press('Escape');
    await page.waitForFunction(`document.querySelector('.bar-figures') === null`, patience);
    const runs = /^\w+ \d+: Runs ([\d,]+)$/.exec(spoken)?.[1];
    return holdsNothing([
      ...wrong,
      ...(runs !== undefined && figures.endsWith(runs) ? [] : [`${spoken} | ${figures}`]),
    ]);
  });

  await check('a person chooses a theme, which the next visit has', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
    const light = await groundOf(page);
    await click(page, 'Theme: system. Switch to light');
    await click(page, 'Theme: light. Switch to dark');
    const dark = await groundOf(page);
    await page.goto(`${origin}/app/usage`);
    await settle(page);
    const next = await groundOf(page);
    await click(page, 'Theme: dark. Switch to system');
    const shown = [light !== dark, next === dark, (await groundOf(page)) === light].join();
    return mustHold(shown === 'true,true,true', shown);
  });

  await check('on a phone the navigation is behind a button, in a drawer', async () => {
    await page.setViewport({ width: phone, height: 800 });
    await page.goto(`${origin}/app/usage`);
    await settle(page);
    const before = (await page.$('nav')) === null;
    await click(page, 'Menu');
    await page.waitForSelector('dialog nav a', patience);
    const wrong = await faults(page);
    await page.evaluate(`document.querySelector('dialog nav a[href="/app/keys"]').click()`);
    await page.waitForFunction(`document.querySelector('dialog') === null`, patience);
    await page.setViewport({ width: desktop, height: 900 });
    await page.waitForSelector('nav', patience);
    return holdsNothing([...wrong, ...(before ? [] : ['the navigation is beside the page'])]);
  });

  await check('the Overview of a new tenant waits for its first request, and shows it', async () => {
    const slug = `first-${Date.now().toString(36)}`;
    const { adminKey } = await makeTenant({ url: origin, ownerKey: credentials.owner_key }, { slug });
    await logInAfresh(page, adminKey, '/app/');
    await click(page, 'Create a key for the first request');
    await page.waitForSelector('.first-request .secret pre', patience);
    const key = await textOf(page, '.first-request .secret pre');
    const line = await textOf(page, '[role=tabpanel] pre');
    const wrong = await faults(page);
    const messages = [{ role: 'user', content: 'Say hello.' }];
    const { status } = await api('/v1/chat/completions', key, { model: 'gpt-4.1-mini', messages });
    await page.waitForFunction(
      `/Your first request is here/.test(document.querySelector('main').textContent)`,
      patience,
    );
    wrong.push(...(await faults(page)));
    return holdsNothing([...wrong, ...(line.includes(key) && status === 200 ? [] : [`${status} ${line}`])]);
  });
} finally {
  await browser.close();
}
