import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { LocalCredentials } from '@gatehouse/local/credentials';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { Receiver } from '@gatehouse/test/receiver';
import { makeTenant } from '@gatehouse/test/tenants';
import { Webhook } from 'standardwebhooks';
import { stringify } from 'yaml';

/** A step of `make test-outside` (17-alertmanager.sh): see test/outside/README.md. Its argument is Alertmanager. */

const [alertmanager = ''] = process.argv.slice(2);
const state = process.env['GATEHOUSE_STATE'] ?? '';
const { url, owner_key: ownerKey } = JSON.parse(
  readFileSync(path.join(state, 'credentials.json'), 'utf8'),
) as LocalCredentials;

interface Made {
  id: string;
  secret: string;
  callback_secret: string;
}

async function post(key: string, route: string, body: object): Promise<Made> {
  const response = await fetch(url + route, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Made;
}

const receiver = await Receiver.start();
const { adminKey } = await makeTenant({ url, ownerKey });
const agent = await post(adminKey, '/v1/agents', { key: 'on-call', model: 'gpt-4.1-mini' });
const endpoint = await post(adminKey, '/v1/webhooks/endpoints', {
  ...{ name: 'Alertmanager', agent_id: agent.id, scheme: 'token', template: 'alertmanager' },
  ...{ mode: 'async', callback_url: receiver.url('/summary') },
});

const folder = mkdtempSync(path.join(tmpdir(), 'gatehouse-alertmanager-'));
const port = await freePort();
writeFileSync(
  path.join(folder, 'alertmanager.yml'),
  stringify({
    route: { receiver: 'gatehouse', group_wait: '1s' },
    receivers: [
      {
        name: 'gatehouse',
        webhook_configs: [
          {
            url: `${url}/v1/webhooks/llm?endpoint=${endpoint.id}`,
            http_config: { authorization: { type: 'Bearer', credentials: endpoint.secret } },
          },
        ],
      },
    ],
  }),
);
const child = spawn(
  alertmanager,
  [
    `--config.file=${path.join(folder, 'alertmanager.yml')}`,
    `--storage.path=${path.join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--cluster.listen-address=',
  ],
  { stdio: ['ignore', 'ignore', 'pipe'] },
);
let log = '';
child.stderr.on('data', (chunk) => (log += String(chunk)));

try {
  await eventually(async () => {
    const ready = await fetch(`http://127.0.0.1:${port}/-/ready`);
    if (!ready.ok) throw new Error('Alertmanager is not ready');
  });
  const labels = { alertname: 'DiskNearlyFull', instance: 'db-1', severity: 'critical' };
  const annotations = { summary: 'The disk of db-1 is 97 % full' };
  const fired = await fetch(`http://127.0.0.1:${port}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ labels, annotations }]),
  });
  if (!fired.ok) throw new Error(`Alertmanager rejected the alert: ${fired.status}`);
  const summary = await eventually(() => {
    const [sent] = receiver.at('/summary');
    if (sent === undefined) throw new Error('no summary has arrived');
    return new Webhook(endpoint.callback_secret).verify(sent.body, sent.headers as Record<string, string>);
  });
  report('the summary arrives, signed', (summary as { type: string }).type === 'call.completed');
  const { output } = (summary as { data: { output: string } }).data;
  // The simulator answers with what it was asked.
  report('the agent was asked about the alert', /DiskNearlyFull|97 %/.test(output), output);
} catch (error) {
  report(String(error), false, log.slice(-1_000));
} finally {
  child.kill('SIGTERM');
  await once(child, 'exit');
  await receiver.stop();
  rmSync(folder, { recursive: true });
}

function report(what: string, passed: boolean, details = ''): void {
  console.log(passed ? `ok: ${what}` : `failed: ${what}: ${details.replaceAll('\n', ' ')}`);
  if (!passed) process.exitCode = 1;
}
