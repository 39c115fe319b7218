import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import type { Page } from 'puppeteer-core';
import { mustHold, setting } from './step.ts';

/** A person at the pages of the gateway that run.sh has started. */

const state = setting('GATEHOUSE_STATE');
export const credentials = JSON.parse(
  readFileSync(path.join(state, 'credentials.json'), 'utf8'),
) as LocalCredentials;
export const { origin } = new URL(credentials.url);
export const patience = { timeout: 60_000 };
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** The text of the first element. */
export const textOf = (page: Page, selector: string): Promise<string> =>
  page.$eval(selector, (element) => String((element as { textContent: string | null }).textContent));

/** The element whose accessible name it is, once no answer that comes moves it. */
export async function click(page: Page, name: string): Promise<void> {
  await answered(page);
  const element = await page.waitForSelector(`::-p-aria([name="${name}"][role="button"])`, patience);
  await element?.click();
}

export async function fill(page: Page, label: string, value: string): Promise<void> {
  const field = await page.waitForSelector(`::-p-aria([name="${label}"][role="textbox"])`, patience);
  await field?.type(value);
}

export async function choose(page: Page, label: string, value: string): Promise<void> {
  const field = await page.waitForSelector(`::-p-aria([name="${label}"][role="combobox"])`, patience);
  await field?.select(value);
}

/** Logs in also if a check before has failed while another person was logged in. */
export async function logInAfresh(page: Page, key: string, target: string): Promise<void> {
  const context = page.browserContext();
  await context.deleteCookie(...(await context.cookies()));
  await logIn(page, key, target);
}

export async function logIn(page: Page, key: string, target: string): Promise<void> {
  await page.goto(`${origin}${target}`);
  await page.waitForSelector('#key', patience);
  await page.type('#key', key);
  await page.keyboard.press('Enter');
  await page.waitForSelector('nav', patience);
}

export async function logOut(page: Page): Promise<void> {
  await click(page, 'Log out');
  await page.waitForSelector('#key', patience);
}

/** Waits until a view has its answers. */
export async function settle(page: Page): Promise<void> {
  await page.waitForSelector('main h1', patience);
  await answered(page);
}

async function answered(page: Page): Promise<void> {
  await page.waitForFunction(`document.querySelector('[aria-busy=true]') === null`, patience);
}

export async function api<Answer>(
  target: string,
  key: string,
  body?: unknown,
  method = body === undefined ? 'GET' : 'POST',
): Promise<{ status: number; body: Answer }> {
  const response = await fetch(origin + target, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // A deletion returns nothing.
  return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as Answer };
}

/** A decimal amount as pages write it. */
export function shownUsd(amount: string): string {
  const [whole = '', decimals = ''] = amount.split('.');
  return `$${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${decimals.replace(/0+$/, '').padEnd(2, '0')}`;
}

/** The faults of the view by axe: WCAG 2.2 AA, and its best practices; or those alone that depend on the colours. */
export async function faults(page: Page, rules: 'all' | 'colours' = 'all'): Promise<string[]> {
  await page.evaluate(axe);
  const only = rules === 'all' ? '' : `, runOnly: ['color-contrast', 'link-in-text-block']`;
  const found: unknown = await page.evaluate(
    `axe.run({ resultTypes: ['violations']${only} }).then(({ violations }) =>
       violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  );
  return Array.isArray(found) ? found.map(String) : ['axe returned nothing'];
}

export const holdsNothing = (wrong: readonly string[]): string | null =>
  mustHold(wrong.length === 0, wrong.join('; '));
