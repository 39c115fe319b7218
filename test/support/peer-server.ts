import { GrpcServer } from '@gatehouse/grpc/server';
import { Verifier } from '@gatehouse/identity/verifier';
import { createLogger } from '@gatehouse/kit/log';
import type { TestIdentity } from './identity.ts';

/** A real gRPC server in the place of a service, to which a test adds what that answers. */
export async function peerServer(service: string, identity: TestIdentity, port = 0): Promise<GrpcServer> {
  return new GrpcServer({
    service,
    host: '127.0.0.1',
    port,
    verifier: await Verifier.create(identity.publicKeys),
    log: createLogger(service, 'silent'),
    drainTimeoutMs: 100,
  });
}
