import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '@gatehouse/local/ports';
import { testCatalogue } from '@gatehouse/test/catalogue';
import { targetVariable, type Target } from '@gatehouse/test/installed-gateway';
import type { Drill } from '../drill.ts';

const root = path.join(import.meta.dirname, '../../..');
/** Nothing listens there in a pod. */
const refusing = 'http://127.0.0.1:9/v1';

/** The tests that `make test` runs against services in one process, against those of the cluster. */
export const endToEnd: Drill = {
  name: 'end-to-end',
  title: 'The tests across services and the SDK conformance tests, through the NodePort',
  async run(cluster) {
    const { host } = cluster.settings;
    const port = await freePort();
    await cluster.deploy({
      models: { catalogue: testCatalogue({ simulator: `http://${host}:${port}/v1`, refusing }) },
    });
    try {
      return await runTests({
        url: cluster.url,
        ownerKey: cluster.ownerKey,
        databaseUrl: cluster.backends.databaseUrl,
        simulator: { host, port },
      });
    } finally {
      await cluster.deploy();
    }
  },
};

async function runTests(target: Target): Promise<string> {
  const options = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const jest = [
    path.join(root, 'node_modules/jest/bin/jest.js'),
    '--config=test/cluster/jest.config.js',
    '--ci',
  ];
  const child = spawn(process.execPath, [...options, ...jest], {
    cwd: root,
    env: { ...process.env, [targetVariable]: JSON.stringify(target) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [report, code] = await Promise.all([
    text(child.stderr),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  const summary = /^Tests: +(.*)$/m.exec(report)?.[1] ?? 'no test ran';
  if (code !== 0 || !/\d+ passed/.test(summary)) throw new Error(`${summary}\n${report}`);
  return summary;
}
