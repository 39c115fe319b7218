import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import type { ElementHandle, Page } from 'puppeteer-core';
import { launchBrowser, picture } from './browser.ts';
import { PageWatch } from './page-watch.ts';
import { check, mustHold, setting } from './step.ts';

/** A step of `make test-outside` (30-console.sh): see test/outside/README.md. */

const state = setting('GATEHOUSE_STATE');
const credentials = JSON.parse(
  readFileSync(path.join(state, 'credentials.json'), 'utf8'),
) as LocalCredentials;
const { origin } = new URL(credentials.url);

/** The block of an operation, opened. */
async function open(page: Page, method: string, route: string): Promise<ElementHandle> {
  const path = `.opblock-summary-path[data-path="${route}"]`;
  const block = await page.waitForSelector(`.opblock-${method}:has(${path})`);
  if (block === null) throw new Error(`there is no ${method} ${route}`);
  await (await block.$('.opblock-summary-control'))?.click();
  await block.waitForSelector('.execute');
  return block;
}

async function textOf(within: ElementHandle | null, selector: string): Promise<string> {
  const element: ElementHandle | null | undefined = await within?.$(selector);
  // The types of its properties are those of a browser, which a program for Node does not have.
  const text = await element?.getProperty('textContent' as never);
  return String(await text?.jsonValue());
}

interface Shown {
  status: string;
  text: string;
}

async function execute(block: ElementHandle): Promise<Shown> {
  await (await block.$('.execute'))?.click();
  const row = await block.waitForSelector('.live-responses-table .response');
  return {
    status: await textOf(row, '.response-col_status'),
    text: await textOf(row, '.response-col_description'),
  };
}

async function pictureOf(page: Page, block: ElementHandle, file: string): Promise<void> {
  await (await block.$('.live-responses-table'))?.scrollIntoView();
  await picture(page, file);
}

/** Puts text into a field at once: the console draws all operations again after each key. */
async function write(page: Page, field: ElementHandle | null, text: string): Promise<void> {
  await field?.click();
  await page.keyboard.sendCharacter(text);
}

async function authorise(page: Page, key: string): Promise<void> {
  await (await page.waitForSelector('.auth-wrapper .authorize'))?.click();
  await write(page, await page.waitForSelector('.auth-container input'), key);
  await (await page.waitForSelector('.auth-btn-wrapper .authorize'))?.click();
  await (await page.waitForSelector('.auth-btn-wrapper .btn-done'))?.click();
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  // So high that the console draws all operations: it leaves out those that are not in view. Coarse, if no picture is kept.
  const deviceScaleFactor = process.env['SCREENSHOTS'] === undefined ? 0.1 : 1;
  await page.setViewport({ width: 1280, height: 30_000, deviceScaleFactor });
  // Chromium logs every 403, expected or not.
  const watch = new PageWatch(page, origin, /status of 403/);
  await watch.start(page);
  page.setDefaultTimeout(60_000);
  await page.goto(`${credentials.url}/api-docs`, { waitUntil: 'networkidle0' });

  await check('the console shows the operations of the document', async () => {
    await page.waitForSelector('.opblock');
    const shown = (await page.$$('.opblock')).length;
    await picture(page, 'console.png');
    return mustHold(shown > 20, `it shows ${shown}`);
  });

  await check('the search field finds operations by words of their path, method and summary', async () => {
    const field = await page.waitForSelector('.operation-search input');
    await write(page, field, 'delete memory');
    await page.waitForFunction('document.querySelectorAll(".opblock").length < 20');
    const shown = await page.evaluate(
      'JSON.stringify(Array.from(document.querySelectorAll(".opblock-summary-path"), (path) => path.dataset.path))',
    );
    const paths = JSON.parse(String(shown)) as string[];
    await picture(page, 'console-search.png');
    const wrong = paths.filter((found) => !found.includes('memory'));
    await field?.click({ count: 3 });
    await page.keyboard.press('Backspace');
    return mustHold(paths.length > 0 && wrong.length === 0, `${paths.length} found; ${wrong.join(' ')}`);
  });

  await check('GET /v1/agents answers the user key', async () => {
    await authorise(page, credentials.user_key);
    const { status, text } = await execute(await open(page, 'get', '/v1/agents'));
    return mustHold(status.startsWith('200') && text.includes(credentials.agent_key), `${status} ${text}`);
  });

  await check('a streamed completion shows its text', async () => {
    const block = await open(page, 'post', '/v1/chat/completions');
    const body = await block.waitForSelector('textarea.body-param__text');
    await body?.click({ count: 3 });
    await page.keyboard.down('Control');
    await page.keyboard.press('a');
    await page.keyboard.up('Control');
    const messages = [{ role: 'user', content: 'Say the word portcullis.' }];
    await page.keyboard.sendCharacter(
      JSON.stringify({ model: `agent:${credentials.agent_key}`, messages, stream: true }),
    );
    const { status, text } = await execute(block);
    await pictureOf(page, block, 'console-stream.png');
    const spoken = await textOf(block, '.stream-text p');
    return mustHold(
      status.startsWith('200') && spoken.includes('Say the word portcullis.') && text.includes('[DONE]'),
      `${status} ${spoken} ${text}`,
    );
  });

  await check('an owner’s path is refused', async () => {
    const block = await open(page, 'get', '/internal/v1/owner/tenants');
    const { status, text } = await execute(block);
    await pictureOf(page, block, 'console-refused.png');
    return mustHold(status.startsWith('403') && text.includes('relay_forbidden'), `${status} ${text}`);
  });

  await check('every request stays at the gateway, and those tried go through the relay', async () => {
    const tried = watch.requests.filter((url) => /\/(v1|internal)\//.test(url));
    const around = tried.filter((url) => !url.startsWith(`${origin}/api-docs/proxy/`));
    const wrong = [...watch.elsewhere, ...around];
    return mustHold(tried.length === 3 && wrong.length === 0, `${tried.length} tried; ${wrong.join(' ')}`);
  });

  await check('nothing violates the content-security policy, and the browser reports no error', async () =>
    mustHold(watch.complaints.length === 0, watch.complaints.join('; ')),
  );

  await check('the key is kept nowhere', async () => {
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    if (typeof kept !== 'string') throw new Error('the browser did not return what it stores');
    return mustHold(!kept.includes(credentials.user_key), kept);
  });
} finally {
  await browser.close();
}
