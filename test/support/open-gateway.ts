import { TestGateway } from './gateway.ts';
import { InstalledGateway, targetVariable, type Target } from './installed-gateway.ts';
import type { SomeGateway } from './some-gateway.ts';

/**
 * Opens a gateway for tests that do not control how it runs: the installed one in the environment variable, otherwise
 * one in this process with this many replicas.
 */
export async function openGateway(replicas: { edges?: number; chats?: number } = {}): Promise<SomeGateway> {
  const target = process.env[targetVariable];
  return target === undefined
    ? TestGateway.start(replicas)
    : InstalledGateway.open(JSON.parse(target) as Target);
}
