import { describe, expect, it } from '@jest/globals';
import { refusal, render, required, serviceNames, topology, type Values } from './helm.ts';
import {
  annotation,
  componentOf,
  environmentOf,
  hooksOf,
  nameOf,
  named,
  ofKind,
  podsOf,
  type Manifest,
} from './manifests.ts';

const databaseServices = serviceNames.filter((name) => topology[name]?.database === true);

/** The objects of a hook in the order in which Helm applies them, as `kind name`. */
function sequence(manifests: readonly Manifest[], hook: string): string[] {
  const weight = (manifest: Manifest) => Number(annotation(manifest, 'helm.sh/hook-weight'));
  return manifests
    .filter((manifest) => hooksOf(manifest).includes(hook))
    .sort((one, other) => weight(one) - weight(other))
    .map((manifest) => `${manifest.kind} ${nameOf(manifest)}`);
}

const rights = ['ServiceAccount', 'Role', 'RoleBinding'].map((kind) => `${kind} gatehouse-secrets`);

describe('before an install or an upgrade changes a pod', () => {
  it.each(['pre-install', 'pre-upgrade'])('secrets are made, then every schema migrated (%s)', (hook) => {
    expect(sequence(render(), hook)).toEqual([
      ...rights,
      'Job gatehouse-secrets',
      'Job gatehouse-migrations',
    ]);
  });

  it('each service with a database migrates with the image that will run, once', () => {
    const manifests = render({
      image: { registry: 'docker.io', tag: 'next' },
      kafka: { brokers: ['kafka:9092'], prefix: 'gw.' },
    });
    const migrations = podsOf(manifests).find(({ component }) => component === 'migrations');
    expect(migrations?.containers.map(({ name, image, args }) => [name, image, args])).toEqual(
      databaseServices.map((name) => [name, `docker.io/gatehouse/${name}:next`, ['src/migrate.js']]),
    );
    // The last one is what the Job waits for; those before it must have succeeded.
    expect(migrations?.spec.containers).toHaveLength(1);
    for (const container of migrations?.containers ?? []) {
      const { values, secrets } = environmentOf(container);
      expect(values).toEqual({ KAFKA_BROKERS: 'kafka:9092', KAFKA_PREFIX: 'gw.' });
      expect(secrets).toEqual({
        MIGRATION_DATABASE_URL: 'owner-database/url',
        DATABASE_URL: `gatehouse-secrets/DATABASE_URL_${container.name.toUpperCase()}`,
      });
    }
  });

  it('migrations have what reaches the database: a service’s variables and volumes', () => {
    const ca = {
      extraVolumes: [{ name: 'ca', secret: { secretName: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
    };
    const manifests = render({
      defaults: { ...ca, extraEnv: [{ name: 'PGSSLROOTCERT', value: '/ca/ca.crt' }] },
    });
    const migrations = podsOf(manifests).find(({ component }) => component === 'migrations');
    expect(migrations?.spec.volumes).toEqual(ca.extraVolumes);
    for (const container of migrations?.containers ?? []) {
      expect(container.volumeMounts).toEqual(ca.extraVolumeMounts);
      expect(environmentOf(container).values.PGSSLROOTCERT).toBe('/ca/ca.crt');
    }
  });

  it('migrations have every service’s volumes, always in the same order', () => {
    const own = (service: string) =>
      ['x', 'a', 'm'].map((name) => ({ name: `${name}-${service}`, secret: { secretName: service } }));
    const common = { name: 'ca', configMap: { name: 'ca' } };
    const volumesOf = (service: string) => ({ extraVolumes: [common, ...own(service)] });
    const manifests = render({
      services: Object.fromEntries(databaseServices.map((name) => [name, volumesOf(name)])),
    });
    const migrations = podsOf(manifests).find(({ component }) => component === 'migrations');
    const names = [common, ...databaseServices.flatMap(own)].map(({ name }) => name);
    expect(migrations?.spec.volumes?.map(({ name }) => name)).toEqual(names.sort());
  });

  it('migrations are refused two volumes of one name', () => {
    const ca = (secretName: string) => ({ extraVolumes: [{ name: 'ca', secret: { secretName } }] });
    const values = { ...required, services: { agent: ca('one'), chat: ca('other') } };
    expect(refusal(values)).toContain(
      'services.chat.extraVolumes: another service has a different volume named ca',
    );
    expect(refusal({ ...values, migrations: { enabled: false } })).toBe('');
  });

  it('the operator’s key of the owner’s Secret is taken', () => {
    const manifests = render({ database: { existingSecret: 'pg', key: 'uri' } });
    const [secrets] = podsOf(manifests).filter(({ component }) => component === 'secrets');
    expect(environmentOf(secrets?.containers[0]).secrets).toEqual({ MIGRATION_DATABASE_URL: 'pg/uri' });
  });

  it.each([false, true])(
    'a service with a database of its own is migrated by that one’s owner, composed: %s',
    (composed) => {
      const own = {
        composed,
        services: { analytics: { ownDatabase: { existingSecret: 'analytics-database' } } },
      };
      const manifests = render({ ...own, secrets: { existing: 'ours' } });
      const migrations = podsOf(manifests).find(({ component }) => component === 'migrations');
      expect(
        migrations?.containers.map((container) => environmentOf(container).secrets.MIGRATION_DATABASE_URL),
      ).toEqual(
        databaseServices.map((name) => `${name === 'analytics' ? 'analytics' : 'owner'}-database/url`),
      );
      expect(refusal({ ...required, ...own })).toContain(
        'services.analytics.ownDatabase needs secrets.existing',
      );
    },
  );

  it('says what is missing without a database', () => {
    const image = { registry: 'registry.example.com' };
    expect(refusal({ image })).toContain('database.existingSecret is required');
    expect(refusal({ image, secrets: { existing: 'ours' }, migrations: { enabled: false } })).toBe('');
  });

  it('stays for the configured time, in whole seconds', () => {
    const month = 30 * 24 * 3600;
    for (const { spec } of ofKind(render({ jobs: { ttlSecondsAfterFinished: month } }), 'Job')) {
      expect(spec?.ttlSecondsAfterFinished).toBe(month);
    }
  });

  it('migrates nothing where the operator does', () => {
    expect(sequence(render({ migrations: { enabled: false } }), 'pre-upgrade')).toEqual([
      ...rights,
      'Job gatehouse-secrets',
    ]);
  });
});

describe('the Secret', () => {
  /** Node checks the certificate of the Kubernetes API by it. */
  const authority = { NODE_EXTRA_CA_CERTS: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' };
  const secretsOf = (values: Values) =>
    new Set(
      podsOf(ofKind(render(values), 'Deployment')).flatMap(({ containers }) =>
        Object.values(environmentOf(containers[0]).secrets).map((source) => source.split('/')[0]),
      ),
    );

  it('is made under the name by which the services know it, for all of them', () => {
    for (const [values, name] of [
      [{}, 'gatehouse-secrets'],
      [{ secrets: { name: 'made' } }, 'made'],
    ] as const) {
      const [job] = podsOf(render(values)).filter(({ component }) => component === 'secrets');
      expect(job?.containers[0]?.args).toEqual(['src/main.js', 'secrets']);
      expect(environmentOf(job?.containers[0]).values).toEqual({
        ...authority,
        NAMESPACE: 'gateway',
        SECRET_NAME: name,
        SERVICES: serviceNames.join(','),
        DATABASE_SERVICES: databaseServices.join(','),
      });
      expect([...secretsOf(values)]).toEqual([name]);
    }
  });

  it('is all that its Job may touch, and may be made but not removed', () => {
    const manifests = render({ secrets: { name: 'made' } });
    const { rules } = named(manifests, 'Role', 'gatehouse-secrets');
    expect(rules).toEqual([
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['made'], verbs: ['get', 'patch'] },
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    ]);
    const binding = named(manifests, 'RoleBinding', 'gatehouse-secrets');
    expect(binding.roleRef.name).toBe('gatehouse-secrets');
    expect(binding.subjects).toEqual([
      { kind: 'ServiceAccount', name: 'gatehouse-secrets', namespace: 'gateway' },
    ]);
    expect(ofKind(manifests, 'Role')).toHaveLength(1);
  });

  it('stays after an uninstall unless the operator says otherwise', () => {
    expect(sequence(render(), 'post-delete')).toEqual([]);
    const manifests = render({ secrets: { keep: false, name: 'made' } });
    expect(sequence(manifests, 'post-delete')).toEqual([...rights, 'Job gatehouse-remove-secrets']);
    const [job] = podsOf(manifests).filter(({ component }) => component === 'remove-secrets');
    expect(job?.containers[0]?.args).toEqual(['src/main.js', 'remove-secrets']);
    expect(environmentOf(job?.containers[0])).toEqual({
      values: { ...authority, NAMESPACE: 'gateway', SECRET_NAME: 'made' },
      secrets: {},
    });
    expect(named(manifests, 'Role', 'gatehouse-secrets').rules?.[0]?.verbs).toContain('delete');
  });

  it('can be the operator’s own: then no Secret is created and no pod may access Secrets', () => {
    const values = { secrets: { existing: 'ours', keep: false } };
    const manifests = render(values);
    expect(ofKind(manifests, 'Role')).toEqual([]);
    expect(ofKind(manifests, 'RoleBinding')).toEqual([]);
    expect(ofKind(manifests, 'Job').map(componentOf).sort()).toEqual(['migrations', 'test']);
    expect([...secretsOf(values)]).toEqual(['ours']);
  });
});

describe('helm test', () => {
  it('asks the edge for its health through the public Service, with an image that is there', () => {
    const manifests = render({ service: { port: 8000 } });
    const [pod] = podsOf(manifests).filter(({ component }) => component === 'test');
    const edge = named(manifests, 'Deployment', 'gatehouse-edge').spec?.template.spec?.containers[0];
    expect(pod?.containers[0]?.image).toBe(edge?.image);
    expect(environmentOf(pod?.containers[0]).values.URL).toBe('http://gatehouse-edge:8000/health');
    expect(sequence(manifests, 'test')).toEqual(['Job gatehouse-test']);
  });
});
