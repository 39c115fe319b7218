import { TestGateway } from './gateway.ts';
import { InstalledGateway, targetVariable, type Target } from './installed-gateway.ts';
import type { SomeGateway } from './some-gateway.ts';

/**
 * A gateway for tests that need no hand in how it runs: the installed one that the environment names, else one in this
 * process with as many replicas.
 */
export async function openGateway(replicas: { edges?: number; chats?: number } = {}): Promise<SomeGateway> {
  const target = process.env[targetVariable];
  return target === undefined
    ? TestGateway.start(replicas)
    : InstalledGateway.open(JSON.parse(target) as Target);
}
