import { describe, expect, it } from '@jest/globals';
import { refusal, render, required, serviceNames } from './helm.ts';
import { environmentOf, named, ofKind, servicePods } from './manifests.ts';

/** Paths of the files that a service's settings name, with the Secret behind each. */
function filesOf(manifests: ReturnType<typeof render>, service: string): Record<string, string> {
  const pod = servicePods(manifests).get(service);
  const container = pod?.containers[0];
  const files: Record<string, string> = {};
  for (const [setting, path] of Object.entries(environmentOf(container).values)) {
    if (!/^(INTERNAL_)?TLS_/.test(setting)) continue;
    const mount = container?.volumeMounts?.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
    const volume = pod?.spec.volumes?.find(({ name }) => name === mount?.name);
    files[setting] = `${volume?.secret?.secretName ?? 'none'}${path.slice(mount?.mountPath.length)}`;
  }
  return files;
}

describe('TLS of the edge', () => {
  const manifests = render({ tls: { secretName: 'public-tls' }, service: { port: 443 } });

  it('reaches the edge alone, and its Service speaks https', () => {
    expect(filesOf(manifests, 'edge')).toEqual({
      TLS_CERT: 'public-tls/tls.crt',
      TLS_KEY: 'public-tls/tls.key',
    });
    expect(filesOf(manifests, 'chat')).toEqual({});
    const { ports } = named(manifests, 'Service', 'gatehouse-edge').spec ?? {};
    expect(ports).toMatchObject([{ port: 443, appProtocol: 'https' }]);
  });

  it('leaves the probes as they are: the admin port is http', () => {
    const { readinessProbe, livenessProbe } = servicePods(manifests).get('edge')?.containers[0] ?? {};
    for (const probe of [readinessProbe, livenessProbe])
      expect(probe?.httpGet).toMatchObject({ port: 'admin' });
    expect(readinessProbe?.httpGet).not.toHaveProperty('scheme');
  });

  it('is checked by helm test over https', () => {
    const [job] = ofKind(manifests, 'Job').filter(({ metadata }) => metadata?.name?.endsWith('-test'));
    const env = job?.spec?.template.spec?.containers[0]?.env ?? [];
    expect(env.find(({ name }) => name === 'URL')?.value).toBe('https://gatehouse-edge:443/health');
  });
});

describe('TLS between services', () => {
  it('is off unless the operator switches it on, and has no effect in one process', () => {
    for (const values of [{}, { composed: true, internalTls: { enabled: true } }]) {
      const manifests = render(values);
      expect(ofKind(manifests, 'Certificate')).toEqual([]);
      for (const service of servicePods(manifests).keys()) expect(filesOf(manifests, service)).toEqual({});
    }
  });

  it('gives each service a certificate with its name from a CA of the release', () => {
    const manifests = render({ internalTls: { enabled: true } });
    for (const service of serviceNames) {
      const secret = `gatehouse-${service}-internal-tls`;
      expect(filesOf(manifests, service)).toEqual({
        INTERNAL_TLS_CA: `${secret}/ca.crt`,
        INTERNAL_TLS_CERT: `${secret}/tls.crt`,
        INTERNAL_TLS_KEY: `${secret}/tls.key`,
      });
      const { spec } = named(manifests, 'Certificate', secret);
      expect(spec).toMatchObject({ secretName: secret, dnsNames: [service] });
      expect(spec?.privateKey).toMatchObject({ rotationPolicy: 'Always' });
      expect(spec?.usages).toEqual(expect.arrayContaining(['server auth', 'client auth']));
      const issuer = named(manifests, 'Issuer', spec?.issuerRef.name ?? '');
      const ca = named(manifests, 'Certificate', issuer.spec.ca?.secretName ?? '');
      const { secretName: caSecret } = issuer.spec.ca ?? {};
      // Certificates of before and after its renewal verify each other.
      const privateKey = { rotationPolicy: 'Never' };
      expect(ca.spec).toMatchObject({ isCA: true, secretName: caSecret, privateKey });
      expect(named(manifests, 'Issuer', ca.spec?.issuerRef.name ?? '').spec).toEqual({ selfSigned: {} });
    }
    const { ports } = named(manifests, 'Service', 'gatehouse-chat-headless').spec ?? {};
    expect(ports?.map(({ appProtocol }) => appProtocol)).toEqual(['https', 'https', 'http']);
    expect(named(manifests, 'Service', 'gatehouse-edge').spec?.ports?.[0]?.appProtocol).toBe('http');
  });

  it('can be signed by the issuer that the operator names', () => {
    const issuerRef = { name: 'vault', kind: 'ClusterIssuer', group: 'cert-manager.io' };
    const manifests = render({ internalTls: { enabled: true, certManager: { issuerRef } } });
    expect(ofKind(manifests, 'Issuer')).toEqual([]);
    const certificates = ofKind(manifests, 'Certificate');
    expect(certificates).toHaveLength(serviceNames.length);
    for (const { spec } of certificates) expect(spec?.issuerRef).toEqual(issuerRef);
  });

  it('can take Secrets of the operator, one for each service', () => {
    const existingSecrets = Object.fromEntries(serviceNames.map((name) => [name, `our-${name}`]));
    const manifests = render({ internalTls: { enabled: true, existingSecrets } });
    expect(ofKind(manifests, 'Certificate')).toEqual([]);
    for (const service of serviceNames)
      expect(filesOf(manifests, service).INTERNAL_TLS_KEY).toBe(`our-${service}/tls.key`);
    const { chat: _, ...others } = existingSecrets;
    expect(refusal({ ...required, internalTls: { enabled: true, existingSecrets: others } })).toContain(
      'internalTls.existingSecrets.chat is required',
    );
  });
});
