import { isDeepStrictEqual } from 'node:util';
import { sleep } from '@gatehouse/kit/clock';
import { launchBrowser } from './browser.ts';
import {
  api,
  choose,
  click,
  credentials,
  faults,
  fill,
  holdsNothing,
  logInAfresh,
  logOut,
  patience,
  settle,
  textOf,
} from './page-driver.ts';
import { check, mustHold } from './step.ts';

/** A step of `make test-outside` (32-pages.sh): keys and sessions of a person, and the way back after a logout. */

interface Settings {
  content: string;
  user_keys: { max: number };
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage();

  await check('going back after a logout leads to the login', async () => {
    await logInAfresh(page, credentials.admin_key, '/app/keys');
    await settle(page);
    await logOut(page);
    await page.evaluate('history.back()');
    await page.waitForFunction(
      `new URL(location.href).searchParams.get('return_to') === '/app/keys'`,
      patience,
    );
    return mustHold((await page.$('#key')) !== null, await textOf(page, 'body'));
  });

  await check('an admin changes the settings of the tenant', async () => {
    const before = await api<Settings>('/v1/tenant/settings', credentials.admin_key);
    await logInAfresh(page, credentials.admin_key, '/app/settings');
    await settle(page);
    const wrong = await faults(page);
    const content = before.body.content === 'full' ? 'previews' : 'full';
    await choose(page, 'Stored text of runs', content);
    await fill(page, 'Personal keys per user', '0');
    await click(page, 'Save');
    await page.waitForFunction(`/Saved/.test(document.body.textContent)`, patience);
    const after = await api<Settings>('/v1/tenant/settings', credentials.admin_key);
    const { user_keys: keys } = before.body;
    await api('/v1/tenant/settings', credentials.admin_key, before.body, 'PATCH');
    const expected = {
      ...{ ...before.body, content },
      user_keys: { ...keys, max: keys.max * 10 },
    };
    if (!isDeepStrictEqual(after.body, expected)) wrong.push(JSON.stringify(after.body));
    return holdsNothing(wrong);
  });

  await check('a user makes and revokes a key of their own, and ends their session', async () => {
    const body = { name: 'Of a person', role: 'user', user_id: 'hopper' };
    const parent = await api<{ key: string }>('/v1/api-keys', credentials.admin_key, body);
    await logInAfresh(page, parent.body.key, '/app/access');
    await click(page, 'Create a key');
    await fill(page, 'Name', 'Notebook');
    await click(page, 'Create');
    await page.waitForFunction(`/gwk_/.test(document.querySelector('dialog')?.textContent ?? '')`, patience);
    const wrong = await faults(page);
    const shown = /gwk_[\w-]{60}/.exec(await textOf(page, 'dialog'))?.[0] ?? '';
    const status = async () => (await api('/v1/whoami', shown)).status;
    if ((await status()) !== 200) wrong.push('the key is not valid');
    await click(page, 'I have stored it');
    await click(page, 'Revoke Notebook');
    await (await page.waitForSelector('dialog .danger', patience))?.click();
    await page.waitForFunction(
      `/revoked/.test(document.querySelector('tbody')?.textContent ?? '')`,
      patience,
    );
    for (let tries = 0; tries < 60 && (await status()) !== 401; tries += 1) await sleep(500);
    if ((await status()) !== 401) wrong.push('the key is still valid');
    await click(page, 'End the session of Of a person');
    await (await page.waitForSelector('dialog .danger', patience))?.click();
    await page.waitForSelector('#key', patience);
    return holdsNothing(wrong);
  });
} finally {
  await browser.close();
}
