import { describe, expect, it } from '@jest/globals';
import { render } from './helm.ts';
import { named, ofKind } from './manifests.ts';

describe('the way in', () => {
  it('is a Service inside the cluster and nothing more, unless said otherwise', () => {
    const manifests = render();
    expect(named(manifests, 'Service', 'gatehouse-edge').spec).toMatchObject({
      type: 'ClusterIP',
      ports: [{ name: 'http', port: 80, targetPort: 'http' }],
    });
    expect(ofKind(manifests, 'Ingress')).toEqual([]);
    expect(ofKind(manifests, 'HTTPRoute')).toEqual([]);
  });

  it('can be a port of every node', () => {
    const { spec } = named(
      render({ service: { type: 'NodePort', port: 8000, nodePort: 30080 } }),
      'Service',
      'gatehouse-edge',
    );
    expect(spec).toMatchObject({ type: 'NodePort', ports: [{ port: 8000, nodePort: 30080 }] });
  });

  it('can be a load balancer that lets in whom the operator names', () => {
    const said = {
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['192.0.2.0/24'],
      loadBalancerClass: 'example.com/internal',
    };
    const { spec } = named(
      render({ service: { type: 'LoadBalancer', ...said } }),
      'Service',
      'gatehouse-edge',
    );
    expect(spec).toMatchObject({ type: 'LoadBalancer', ...said });
    const plain = named(render({ service: { type: 'LoadBalancer' } }), 'Service', 'gatehouse-edge').spec;
    for (const name of Object.keys(said)) expect(plain).not.toHaveProperty(name);
  });

  it('can be an Ingress that lets streams and large bodies through', () => {
    const manifests = render({
      ingress: {
        enabled: true,
        className: 'nginx',
        hosts: ['ai.example.com'],
        tls: [{ hosts: ['ai.example.com'], secretName: 'ai-tls' }],
      },
    });
    const { metadata, spec } = named(manifests, 'Ingress', 'gatehouse');
    expect(spec).toEqual({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['ai.example.com'], secretName: 'ai-tls' }],
      rules: [
        {
          host: 'ai.example.com',
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: 'gatehouse-edge', port: { name: 'http' } } },
              },
            ],
          },
        },
      ],
    });
    expect(metadata?.annotations).toMatchObject({
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-body-size': '21m',
    });
  });

  it('can be a route of the Gateway API that ends no stream', () => {
    const manifests = render({
      service: { port: 8000 },
      httpRoute: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['ai.example.com'] },
    });
    const { spec } = named(manifests, 'HTTPRoute', 'gatehouse');
    expect(spec.parentRefs).toEqual([{ name: 'public' }]);
    expect(spec.hostnames).toEqual(['ai.example.com']);
    expect(spec.rules).toEqual([
      {
        matches: [{ path: { type: 'PathPrefix', value: '/' } }],
        timeouts: { request: '0s', backendRequest: '0s' },
        backendRefs: [{ name: 'gatehouse-edge', port: 8000 }],
      },
    ]);
  });
});
