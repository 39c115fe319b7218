import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { continueTrace, type TraceContext } from '@gatehouse/kit/trace-context';
import type { SpanRecord, Tracer } from '@gatehouse/kit/tracing';
import {
  TenantServiceClient,
  TenantServiceService,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { testIdentity } from '@gatehouse/test/identity';
import { tenantRpcs, tenantSettings } from '@gatehouse/test/tenant-rpcs';
import { RpcClient } from './client.ts';
import { GrpcServer } from './server.ts';

describe('spans of calls', () => {
  const spans: SpanRecord[] = [];
  const tracer: Tracer = { record: (span) => void spans.push(span), stop: () => Promise.resolve() };
  const name = 'gatehouse.tenant.v1.TenantService/GetTenantSettings';
  const settings = tenantSettings({ allowedModels: { ids: ['a', 'ü'] }, previewMaxChars: 7 });
  let answer: () => Promise<GetTenantSettingsResponse>;
  let seen: TraceContext | null = null;
  let server: GrpcServer;
  let client: RpcClient<TenantServiceClient>;
  beforeAll(async () => {
    const identity = await testIdentity();
    const verifier = await Verifier.create(identity.publicKeys);
    const log = createLogger('test', 'silent');
    const place = { service: 'tenant', host: '127.0.0.1', port: 0, drainTimeoutMs: 200 };
    server = new GrpcServer({ ...place, verifier, log, tracer }).add(
      TenantServiceService,
      tenantRpcs({
        getTenantSettings: {
          callers: ['chat'],
          handle: (_request, context) => {
            seen = context.trace;
            return answer();
          },
        },
      }),
    );
    await server.start();
    const addresses = [`127.0.0.1:${server.port}`];
    const signer = await identity.signer('chat');
    client = new RpcClient({ peer: 'tenant', addresses, stub: TenantServiceClient, signer, tracer });
  });
  afterAll(async () => {
    client.close();
    await server.stop();
  });
  beforeEach(() => {
    spans.splice(0);
    answer = () => Promise.resolve(settings);
  });

  const ask = (trace?: TraceContext) =>
    client.call('getTenantSettings', { tenantId: 't1' }, { deadlineMs: 2_000, trace });

  it('of both sides hang together in the trace of the caller', async () => {
    const trace = continueTrace(undefined);
    await ask(trace);
    const [inner, outer] = spans;
    const attributes = { 'rpc.system.name': 'grpc', 'rpc.method': name, 'rpc.status_code': 'OK' };
    expect(spans).toMatchObject([
      { name, kind: 'server', failed: false, attributes },
      { name, kind: 'client', failed: false, attributes },
    ]);
    expect(outer?.context).toMatchObject({ traceId: trace.traceId, parentSpanId: trace.spanId });
    expect(inner?.context).toMatchObject({ traceId: trace.traceId, parentSpanId: outer?.context.spanId });
    expect(seen).toEqual(inner?.context);
  });

  it('say how a call failed; what the caller did wrong is no fault of the server', async () => {
    const trace = continueTrace(undefined);
    for (const code of ['database_unavailable', 'not_found'] as const) {
      answer = () => Promise.reject(new AppError(code, 'no'));
      await expect(ask(trace)).rejects.toMatchObject({ code });
    }
    expect(spans.map(({ kind, failed, attributes }) => [kind, failed, attributes['error.type']])).toEqual([
      ['server', true, 'UNAVAILABLE'],
      ['client', true, 'UNAVAILABLE'],
      ['server', false, undefined],
      ['client', true, 'NOT_FOUND'],
    ]);
  });

  it('are not made of calls that belong to no trace', async () => {
    await ask();
    expect(spans).toEqual([]);
  });
});
