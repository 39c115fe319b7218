import { describe, expect, it } from '@jest/globals';
import { componentOf, reproducible, type Sbom } from './sbom.ts';

const integrity = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
const a = componentOf('@scope/a', { version: '1.0.0', license: 'MIT', integrity });
const b = componentOf('b', { version: '2.0.0', license: 'ISC', integrity });
const workspace = componentOf('chat', { version: '0.3.0' });
const subject = { name: 'gatehouse-image-chat', version: '0.3.0', seconds: 1_700_000_000 };

/** A document as `npm sbom` makes it: in some order, with the time and a random number. */
function written(components: Sbom['components'], serialNumber: string): Sbom {
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber, version: 1 },
    metadata: { timestamp: new Date().toISOString(), component: workspace },
    components,
    dependencies: [
      { ref: 'chat@0.3.0', dependsOn: ['b@2.0.0'] },
      { ref: 'b@2.0.0', dependsOn: ['chat@0.3.0', '@scope/a@1.0.0'] },
      { ref: '@scope/a@1.0.0' },
    ],
  };
}

describe('a bill of materials', () => {
  it('is the same whenever it is made, and another one for other packages', () => {
    const one = reproducible(written([b, workspace, a], 'urn:uuid:1'), subject);
    const other = reproducible(written([a, b, workspace], 'urn:uuid:2'), subject);
    expect(JSON.stringify(other)).toBe(JSON.stringify(one));
    expect(one.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(one.metadata.timestamp).toBe('2023-11-14T22:13:20.000Z');
    expect(reproducible(written([a], 'urn:uuid:1'), subject).serialNumber).not.toBe(one.serialNumber);
  });

  it('is about the image, and names no workspace as a package of the registry', () => {
    const { metadata, components, dependencies } = reproducible(
      written([b, workspace, a], 'urn:uuid:1'),
      subject,
    );
    expect(metadata.component).toMatchObject({
      type: 'application',
      name: 'gatehouse-image-chat',
      version: '0.3.0',
    });
    expect(components.map(({ purl }) => purl)).toEqual(['pkg:npm/%40scope/a@1.0.0', 'pkg:npm/b@2.0.0']);
    expect(components[0]?.hashes).toEqual([{ alg: 'SHA-512', content: '01'.repeat(64) }]);
    expect(dependencies).toEqual([
      { ref: '@scope/a@1.0.0', dependsOn: [] },
      { ref: 'b@2.0.0', dependsOn: ['@scope/a@1.0.0'] },
      { ref: 'gatehouse-image-chat@0.3.0', dependsOn: ['@scope/a@1.0.0', 'b@2.0.0'] },
    ]);
  });

  it('has the packages inside bundles beside those that are installed', () => {
    const bundled = componentOf('preact', { version: '11.2.0', license: 'MIT', integrity });
    const { components } = reproducible(written([a, b], 'urn:uuid:1'), subject, [bundled, a]);
    expect(components.map(({ name }) => name)).toEqual(['@scope/a', 'b', 'preact']);
  });
});
