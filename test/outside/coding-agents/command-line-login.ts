import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

const program = path.join(import.meta.dirname, '../../../packages/cli/src/main.ts');

/** `gatehouse key`, as the setting `apiKeyHelper` of Claude Code takes it. */
export const keyHelper = `'${process.execPath}' '${program}' key`;

interface ShownCode {
  verification_uri: string;
  user_code: string;
}

/**
 * Runs `gatehouse login`, and allows its code in a session of the person with this key. Its profile is below the folder,
 * for `XDG_CONFIG_HOME`.
 */
export async function logInByBrowser(url: string, key: string, folder: string): Promise<void> {
  const login = spawn(process.execPath, [program, 'login', '--url', url, '--json'], {
    env: { PATH: process.env['PATH'], XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
  });
  const ended = once(login, 'close');
  const complained = text(login.stderr);
  const [line] = await Promise.race([once(createInterface(login.stdout), 'line'), ended.then(() => [])]);
  if (line === undefined) throw new Error(`gatehouse login ended: ${await complained}`);
  await allow(JSON.parse(String(line)) as ShownCode, { url, key });
  await ended;
  if (login.exitCode !== 0) throw new Error(`gatehouse login: ${await complained}`);
}

/** The person logs in, opens the page and allows the code. */
async function allow({ verification_uri: page }: ShownCode, { url, key }: { url: string; key: string }) {
  const own = { origin: url, 'sec-fetch-site': 'same-origin' };
  const opened = await fetch(`${url}/login/key`, {
    method: 'POST',
    headers: { ...own, 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const shown = await (await fetch(page, { headers: { cookie } })).text();
  const hidden = shown.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g);
  const fields = Object.fromEntries(Array.from(hidden, ([, name = '', value = '']) => [name, value]));
  const allowed = await fetch(`${url}/device`, {
    method: 'POST',
    headers: { ...own, cookie },
    body: new URLSearchParams({ ...fields, decision: 'allow' }),
  });
  if (!allowed.ok) throw new Error(`the page answered with ${allowed.status}`);
}
