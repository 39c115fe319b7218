import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { loadConfig as agent } from '@gatehouse/service-agent/config';
import { loadConfig as analytics } from '@gatehouse/service-analytics/config';
import { loadConfig as chat } from '@gatehouse/service-chat/config';
import { loadConfig as edge } from '@gatehouse/service-edge/config';
import { loadConfig as memory } from '@gatehouse/service-memory/config';
import { loadConfig as tenant } from '@gatehouse/service-tenant/config';
import { loadConfig as webhook } from '@gatehouse/service-webhook/config';
import { CommandLine } from '@gatehouse/test/command-line';
import { composeFolder, readComposeFile, type ComposeFile } from '@gatehouse/test/compose-file';
import { parse } from 'yaml';

/** The installation on one machine beside the images, the units of systemd and the chart. */

const loaders = { agent, analytics, chat, edge, memory, tenant, webhook };
const root = path.join(composeFolder, '../..');
const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');

let folder: string;
let written: NodeJS.Dict<string>;
let compose: ComposeFile;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-compose-'));
  const commandLine = await CommandLine.make();
  await commandLine.run(['init', folder]);
  await commandLine.remove();
  written = parseEnv(await readFile(path.join(folder, 'gatehouse.env'), 'utf8'));
  compose = readComposeFile(written);
});
afterAll(() => rm(folder, { recursive: true }));

/** Names of the containers that run Gatehouse: the process of all services, the migration steps, and each service. */
const containers = ['gateway', 'migrate', 'migrate-kafka', ...services.map(({ name }) => name)];

describe('compose.yaml', () => {
  it('names a missing env file, whichever variable is read first', async () => {
    const text = await readFile(path.join(composeFolder, 'compose.yaml'), 'utf8');
    const messages = Array.from(text.matchAll(/:\?([^}]*)\}/g), ([, message]) => message);
    expect(new Set(messages)).toEqual(new Set(['add --env-file gatehouse.env']));
    expect(() => readComposeFile({})).toThrow('add --env-file gatehouse.env');
  });

  it('has the variables that `gatehouse init` writes, and starts with these alone', async () => {
    const text = await readFile(path.join(composeFolder, 'compose.yaml'), 'utf8');
    const required = new Set(Array.from(text.matchAll(/\$\{([A-Z_]+):\?/g), ([, name = '']) => name));
    expect([...required].filter((name) => (written[name] ?? '') === '')).toEqual([]);
    const used = (name: string): boolean => required.has(name) || new RegExp(`\\b${name}\\b`).test(text);
    expect(Object.keys(written).filter((name) => !used(name))).toEqual([]);
  });

  it.each(services)(
    'starts $name in a process of its own with the settings that it needs',
    async ({ name }) => {
      const { environment = {}, profiles } = compose.services[name] ?? {};
      expect(profiles).toEqual(['kafka']);
      const models = path.join(folder, 'config/models.yaml');
      const env = { ...environment, ...('GATEHOUSE_MODELS' in environment && { GATEHOUSE_MODELS: models }) };
      expect(await loaders[name](env as Record<string, string>)).toMatchObject({
        HTTP_PORT: 8080,
        ADMIN_PORT: 9090,
      });
    },
  );

  it.each(services)('gives $name no secret that it does not need', ({ name, keyRing, database }) => {
    const own = name.toUpperCase();
    const needed = [
      written[`ASSERTION_PRIVATE_KEY_${own}`],
      ...(database ? [written[`DATABASE_URL_${own}`]] : []),
      ...(keyRing ? [written['SECRETS_KEYRING']] : []),
    ];
    const isSecret = /^(ASSERTION_PRIVATE|DATABASE_URL|SECRETS_KEYRING|POSTGRES_PASS|MIGRATION_)/;
    const secrets = Object.entries(written).filter(([variable]) => isSecret.test(variable));
    const given = Object.values(compose.services[name]?.environment ?? {});
    expect(secrets.map(([, secret]) => secret).filter((secret) => given.includes(secret ?? ''))).toEqual(
      expect.arrayContaining(needed.filter((secret) => secret !== undefined)),
    );
    expect(given.filter((value) => secrets.some(([, secret]) => secret === value))).toHaveLength(
      needed.length,
    );
  });

  it.each(containers)('runs %s without rights, on a root that it cannot write', (name) => {
    expect(compose.services[name]).toMatchObject({
      user: '10001:10001',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
  });

  it('publishes ports on this machine alone, and bounds every log', () => {
    for (const { ports = [], logging } of Object.values(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
      expect(logging.options).toEqual({ 'max-size': '50m', 'max-file': '4' });
    }
  });

  it('mounts the folder of the catalogue, where an editor may replace the file, and no folder with secrets', async () => {
    for (const name of ['gateway', 'chat']) {
      const { environment = {}, volumes = [] } = compose.services[name] ?? {};
      expect(volumes).toEqual([
        {
          ...{ type: 'bind', source: './config', read_only: true, bind: { create_host_path: false } },
          target: path.dirname(environment['GATEHOUSE_MODELS'] ?? ''),
        },
      ]);
    }
    expect(await readdir(path.join(folder, 'config'))).toEqual(['models.yaml']);
  });

  it('migrates before anything that uses the database starts', () => {
    expect(compose.services['gateway']?.depends_on).toEqual({
      migrate: { condition: 'service_completed_successfully' },
    });
    for (const { name } of services.filter(({ database }) => database))
      expect(compose.services[name]?.depends_on).toEqual({
        'migrate-kafka': { condition: 'service_completed_successfully' },
      });
  });
});

describe('the image', () => {
  it('has one user, command, ports and health check everywhere', async () => {
    const [dockerfile, values, deployments, unit] = await Promise.all([
      read('deploy/Dockerfile'),
      read('charts/gatehouse/values.yaml'),
      read('charts/gatehouse/templates/deployments.yaml'),
      read('deploy/systemd/gatehouse.service'),
    ]);
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const line = (name: string): string => new RegExp(`^${name} (.*)$`, 'm').exec(last)?.[1] ?? '';
    const user = line('USER');
    const { podSecurityContext: pod, containerSecurityContext: container } = parse(values) as {
      podSecurityContext: { runAsUser: number; runAsNonRoot: boolean };
      containerSecurityContext: { readOnlyRootFilesystem: boolean };
    };
    expect([pod.runAsNonRoot, container.readOnlyRootFilesystem]).toEqual([true, true]);
    expect(`${pod.runAsUser}:${pod.runAsUser}`).toBe(user);

    expect(line('ENTRYPOINT')).toBe('["node", "--max-old-space-size-percentage=60", "-C", "dist"]');
    const [script = ''] = JSON.parse(line('CMD')) as string[];
    expect(script).toBe('src/main.js');
    // A container without a command of its own has that of the image.
    for (const name of ['gateway', ...services.map((service) => service.name)])
      expect(compose.services[name]?.command).toBeUndefined();
    expect(deployments).not.toMatch(/^ +(command|args):/m);
    expect(unit).toMatch(/^ExecStart=\S+\/node .*src\/main\.ts$/m);

    const [http = '', grpc = '', admin = ''] = line('EXPOSE').split(' ');
    for (const port of [http, grpc, admin]) expect(deployments).toContain(`containerPort: ${port} }`);
    const { environment = {}, healthcheck } = compose.services['gateway'] ?? {};
    expect(environment).toMatchObject({ HTTP_PORT: http, GRPC_PORT: grpc, ADMIN_PORT: admin });

    const check = /\bCMD (\[.*\])$/m.exec(last.slice(last.indexOf('HEALTHCHECK')))?.[1] ?? '[]';
    expect(healthcheck?.test).toEqual(['CMD', ...(JSON.parse(check) as string[])]);
    expect(check).toContain(`http://127.0.0.1:${admin}/readyz`);
    expect(deployments).toMatch(/readinessProbe:\n +httpGet: \{ path: \/readyz, port: admin \}/);
    expect(unit).toContain('http://127.0.0.1:${ADMIN_PORT}/readyz');
  });

  it('has the version of the release, in compose.yaml too', async () => {
    const { version } = JSON.parse(await read('package.json')) as { version: string };
    for (const name of containers)
      expect(compose.services[name]?.image).toMatch(new RegExp(`^gatehouse/[a-z]+:${version}$`));
  });

  it('has room to stop in before it is killed', async () => {
    const unit = await read('deploy/systemd/gatehouse.service');
    // Thirty seconds for requests (DRAIN_TIMEOUT_MS), and twenty to close all services.
    const seconds = Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]);
    expect(seconds).toBeGreaterThan(50);
    expect(compose.services['gateway']?.stop_grace_period).toBe(`${seconds}s`);
  });
});

describe('the units of systemd', () => {
  it.each(['gatehouse', 'gatehouse-migrate'])(
    '%s runs without rights, by the settings of init',
    async (name) => {
      const unit = await read(`deploy/systemd/${name}.service`);
      for (const setting of [
        'DynamicUser=yes',
        'NoNewPrivileges=yes',
        'ProtectSystem=strict',
        'CapabilityBoundingSet=',
      ])
        expect(unit.split('\n')).toContain(setting);
      expect(unit).toContain('\nEnvironmentFile=/etc/gatehouse/gatehouse.env\n');
      const [, script = ''] = /^ExecStart=\S+ (?:--\S+ )*(\S+)$/m.exec(unit) ?? [];
      expect(await read(`deploy/composed/${script}`)).not.toBe('');
    },
  );

  it('are tried again while PostgreSQL is away', async () => {
    const [gateway, migration] = await Promise.all([
      read('deploy/systemd/gatehouse.service'),
      read('deploy/systemd/gatehouse-migrate.service'),
    ]);
    // A service with Requires= stays down for good where the step failed once.
    expect(gateway).toMatch(/^Wants=gatehouse-migrate\.service$/m);
    expect(gateway).toMatch(/^After=gatehouse-migrate\.service$/m);
    expect(gateway).not.toMatch(/^(Requires|BindsTo)=/m);
    expect(gateway).toMatch(/^Restart=always$/m);
    for (const unit of [gateway, migration]) expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  });

  it('opens the admin port on this machine alone, also where HOST opens the other', async () => {
    const unit = await read('deploy/systemd/gatehouse.service');
    expect(unit).toMatch(/^Environment=.*\bADMIN_HOST=127\.0\.0\.1\b/m);
  });

  it('the gateway does not get the owner of the database', async () => {
    const unit = await read('deploy/systemd/gatehouse.service');
    expect(unit).toMatch(/^UnsetEnvironment=MIGRATION_DATABASE_URL POSTGRES_PASSWORD$/m);
  });
});
