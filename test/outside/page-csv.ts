import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sleep } from '@gatehouse/kit/clock';
import { csvMark } from '@gatehouse/kit/csv';
import type { Page } from 'puppeteer-core';
import { launchBrowser } from './browser.ts';
import {
  api,
  click,
  credentials,
  faults,
  holdsNothing,
  logIn,
  logOut,
  origin,
  patience,
  settle,
} from './page-driver.ts';
import { PageWatch } from './page-watch.ts';
import { check } from './step.ts';

/** A step of `make test-outside` (32-pages.sh): tables of the pages as files. */

const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-csv-'));
const browser = await launchBrowser();

/** Presses the button of a table, and reads the file that the browser saves. */
async function save(page: Page, caption: string, name: string): Promise<string[]> {
  await click(page, `Save as CSV: ${caption}`);
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await readdir(folder)).includes(name)) {
      const text = await readFile(path.join(folder, name), 'utf8');
      await rm(path.join(folder, name));
      if (!text.startsWith(csvMark)) return [`${name} has no mark of UTF-8`];
      return text.slice(csvMark.length).split('\r\n').slice(0, -1);
    }
    await sleep(100);
  }
  return [`${name} was not saved`];
}

const shownIn = (page: Page, selector: string): Promise<string[]> =>
  page.$$eval(selector, (elements) =>
    elements.map((element) => String((element as { textContent: string | null }).textContent)),
  );

const differ = (what: string, one: unknown, other: unknown): string[] =>
  JSON.stringify(one) === JSON.stringify(other)
    ? []
    : [`${what}: ${JSON.stringify(one)}, ${JSON.stringify(other)}`];

/** The pages of the navigation that have tables without a button. */
async function unsaved(page: Page): Promise<string[]> {
  const wrong: string[] = [];
  for (const link of await page.$$eval('nav a', (links) =>
    links.map((each) => String((each as { href?: string }).href)),
  )) {
    await page.goto(link);
    await settle(page);
    // At one moment: runs of traces come while the page is read.
    const [tables, buttons] = (await page.evaluate(`[
      document.querySelectorAll('table').length,
      [...document.querySelectorAll('button')].filter((each) => each.innerText === 'Save as CSV').length,
    ]`)) as [number, number];
    if (tables !== buttons) wrong.push(`${link}: ${tables} tables, ${buttons} buttons`);
  }
  return wrong;
}

try {
  const session = await browser.target().createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: folder });
  const page = await browser.newPage();
  const watch = new PageWatch(page, origin, /status of 401/);
  await watch.start(page);

  await check('a list is saved with all of its pages, and the filters of the view', async () => {
    const graph = `/v1/agents/${credentials.agent_key}/kg/entities`;
    const entities = Array.from({ length: 410 }, (_, index) => ({
      ...{ external_id: `row-${index}`, name: `=Row "${index}"`, type: 'csv_row' },
    }));
    const { status } = await api(graph, credentials.admin_key, { entities });
    if (status !== 200) return `entities returned ${status}`;
    await logIn(page, credentials.admin_key, `/app/graph/${credentials.agent_key}?type=csv_row`);
    await settle(page);
    const [names, ...lines] = await save(page, 'Entities', 'kg-entities.csv');
    await page.waitForFunction(`/The file has 410 rows/.test(document.body.textContent)`, patience);
    const all = Array.from({ length: 410 }, (_, index) => `row-${index}`).sort();
    return holdsNothing([
      ...differ('the columns', names, 'id,external_id,name,type,description,properties,scope'),
      ...differ('the rows', lines.map((line) => line.split(',')[1]).sort(), all),
      ...(lines.every((line) => line.includes(`,"'=Row ""`)) ? [] : ['a name is a formula']),
      ...(await faults(page)),
    ]);
  });

  await check('every table of an admin can be saved', async () => {
    const wrong = await unsaved(page);
    await page.goto(`${origin}/app/keys`);
    await settle(page);
    const [caption = ''] = await shownIn(page, 'caption');
    const [names = '', ...lines] = await save(page, caption, 'api-keys.csv');
    const { body } = await api<{ data: unknown[] }>('/v1/api-keys?limit=200', credentials.admin_key);
    await logOut(page);
    return holdsNothing([
      ...wrong,
      ...differ('the columns', names.slice(0, 13), 'id,name,role,'),
      ...differ('the rows', lines.length, body.data.length),
    ]);
  });

  await check('tables of an owner are saved as they are shown, in the order that was chosen', async () => {
    await logIn(page, credentials.owner_key, '/app/');
    const unsavedOnes = await unsaved(page);
    await page.goto(`${origin}/app/models`);
    await settle(page);
    await click(page, 'Model');
    const [names = '', ...lines] = await save(page, 'Deployments of models', 'models.csv');
    const shown = await shownIn(page, 'tbody td:first-child');
    const wrong = [
      ...unsavedOnes,
      ...differ(
        'models',
        lines.map((line) => line.split(',')[0]),
        shown,
      ),
      ...differ('the columns', names.split(','), await shownIn(page, 'th')),
    ];
    await page.goto(`${origin}/app/providers`);
    await settle(page);
    const [ofProviders = ''] = await save(page, 'Deployments', 'providers.csv');
    if (!ofProviders.includes(',TTFB p50 (ms),')) wrong.push(ofProviders);
    await page.goto(`${origin}/app/system`);
    await settle(page);
    for (const [caption, file, column] of [
      ['Services', 'services.csv', 'Status'],
      ['Outboxes', 'outboxes.csv', 'Outbox'],
      ['Background jobs', 'jobs.csv', 'Job'],
    ] as const) {
      const [header = '', ...rows] = await save(page, caption, file);
      if (!header.startsWith(`Service,${column},`) || rows.length === 0) wrong.push(`${file}: ${header}`);
    }
    const all = [...wrong, ...(await faults(page))];
    await logOut(page);
    return holdsNothing(all);
  });

  await check('the browser reports no error', async () => holdsNothing(watch.complaints));
} finally {
  await browser.close();
  await rm(folder, { recursive: true });
}
