import { queryLocal } from '@gatehouse/test/local-database';
import { makeTenant } from '@gatehouse/test/tenants';
import type { Page } from 'puppeteer-core';
import { launchBrowser, picture } from './browser.ts';
import { api, credentials, holdsNothing, logIn, logOut, origin, settle, shownUsd } from './page-driver.ts';
import { check, setting } from './step.ts';

/**
 * A part of 32-pages.sh: the figures of pages over changes of the clock and the end of a month, which lie within the 30
 * days before a time that the browser takes for the present.
 */

const present = '2026-11-02T12:00:00Z';
const firstRun = '2026-10-03T00:00:00Z';
/** Time zones with the day on which the clock changes, and its quarters of an hour. */
const zones = [
  { slug: 'berlin', timezone: 'Europe/Berlin', change: '2026-10-25 100' },
  { slug: 'new-york', timezone: 'America/New_York', change: '2026-11-01 100' },
  { slug: 'lord-howe', timezone: 'Australia/Lord_Howe', change: '2026-10-04 94' },
];

/** Rows of roll-ups, one for each quarter of an hour, with amounts of up to twelve decimals. */
async function fillWithRuns(tenant: string): Promise<void> {
  for (const table of ['usage', 'usage_totals'])
    await queryLocal(
      setting('GATEHOUSE_STATE'),
      `insert into analytics.${table} (tenant_id, bucket, model, provider, channel, requests, errors, cancelled,
         input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, tool_calls, timed_requests, duration_ms,
         cost_pico, unpriced_requests, estimated_requests, estimated_cost_pico)
       select $1, $2::timestamptz + number * interval '15 minutes', (array['gpt-4.1-mini', 'claude-sonnet-5-5', 'gemini-3.8-flash'])[1 + number % 3], 'provider', 'api', 1, 0, 0,
              10, 0, 5, 0, 0, 1, 100, 1000000007::bigint * (10 + (number / 96 * 37) % 23 + number % 3 * 7) + number % 11, 0, 0, 0
       from generate_series(0, 96 * 32) as number`,
      [tenant, firstRun],
    );
}

/** The browser takes another time for the present. Text, since it runs in the browser. */
const setClock = (page: Page) =>
  page.evaluateOnNewDocument(`
    const present = Date.parse('${present}');
    globalThis.Date = class extends Date {
      constructor(...given) { given.length === 0 ? super(present) : super(...given); }
      static now() { return present; }
    };`);

/** The rows of the table of a view with exact amounts, and the request that its figures are of. */
async function read(
  page: Page,
  target: string,
): Promise<{ asked: string; rows: string[][]; total: string; cut: number }> {
  const asked = page.waitForRequest((request) => request.url().includes('/v1/costs/summary'));
  await page.goto(origin + target);
  const { pathname, search } = new URL((await asked).url());
  await settle(page);
  // Texts, since they run in the browser, whose types are not those of Node.
  const rows = (await page.evaluate(
    `[...document.querySelectorAll('tbody tr')].map((row) =>
       [...row.cells].map((cell) => cell.querySelector('data')?.title ?? cell.innerText))`,
  )) as string[][];
  const total = await page.$eval('[data-figure=total_usd]', (figure) =>
    String((figure as { title?: string }).title),
  );
  const cut = (await page.evaluate(
    `[...document.querySelectorAll('.figure')].filter((box) => box.scrollWidth > box.clientWidth).length`,
  )) as number;
  return { asked: pathname + search, rows, total, cut };
}

interface Summary {
  total_usd: string;
  groups: { key: Record<string, string>; requests: number; total_usd: string }[];
}

/** An amount in units of the last digit that the API returns. */
function pico(amount: string): bigint {
  const [whole = '', decimals = ''] = amount.replace(/[$,]/g, '').split('.');
  return BigInt(whole + decimals.padEnd(12, '0'));
}

/** Each difference between the figures of a view, those of the API and their sum. */
async function differences(
  page: Page,
  key: string,
  target: string,
  by: readonly string[],
): Promise<string[]> {
  const { asked, rows, total, cut } = await read(page, target);
  const { body } = await api<Summary>(asked, key);
  const shown = rows.map((cells) => [...cells.slice(0, by.length + 1), cells.at(-1)].join(' '));
  const returned = body.groups.map(({ key: names, requests, total_usd: cost }) =>
    [...by.map((name) => names[name]), requests, shownUsd(cost)].join(' '),
  );
  const sum = rows.reduce((added, cells) => added + pico(cells.at(-1) ?? ''), 0n);
  return [
    ...(cut === 0 ? [] : [`${target} shows ${cut} figures that leave their cards`]),
    ...(rows.length > 0 ? [] : [`${target} has no rows`]),
    ...returned.filter((row, index) => row !== shown[index]).map((row) => `${target}: no row ${row}`),
    ...(shown.length === returned.length
      ? []
      : [`${target} has ${shown.length} rows, not ${returned.length}`]),
    ...(total === shownUsd(body.total_usd) ? [] : [`${target} shows ${total}, not ${body.total_usd}`]),
    ...(sum === pico(body.total_usd) ? [] : [`the rows of ${target} are ${sum} and not ${body.total_usd}`]),
  ];
}

/** The days of the table whose number of runs is not that of a day of 24 hours. */
async function oddDays(page: Page): Promise<string[]> {
  const { rows } = await read(page, '/app/costs?period=30d&by=day&sort=Day');
  return rows.slice(0, -1).flatMap(([day = '', runs = '']) => (runs === '96' ? [] : [`${day} ${runs}`]));
}

/** The picture of the documents, which is the same each time: amounts, days and names are those of this program. */
async function takePicture(page: Page): Promise<void> {
  await page.goto(`${origin}/app/costs?period=30d&by=day&and=model`);
  await settle(page);
  await picture(page, 'costs.webp');
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1_280, height: 720 });
  await setClock(page);
  for (const { slug, timezone, change } of zones) {
    const { id, adminKey } = await makeTenant(
      { url: origin, ownerKey: credentials.owner_key },
      { slug, timezone },
    );
    await fillWithRuns(id);
    await check(`figures are those of the API over a change of the clock in ${timezone}`, async () => {
      await logIn(page, adminKey, '/app/');
      const odd = await oddDays(page);
      const wrong = [
        ...(await differences(page, adminKey, '/app/costs?period=30d&by=day&sort=Day', ['day'])),
        ...(await differences(page, adminKey, '/app/costs?period=30d&by=month&and=model&sort=Month', [
          'month',
          'model',
        ])),
        ...(await differences(page, adminKey, '/app/costs?period=last_month&by=model&sort=Model', ['model'])),
        ...(odd.join() === change ? [] : [`odd days: ${odd.join(', ')}`]),
      ];
      if (slug === 'berlin') await takePicture(page);
      await logOut(page);
      return holdsNothing(wrong);
    });
  }
} finally {
  await browser.close();
}
