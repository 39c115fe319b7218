import { execFileSync, spawnSync } from 'node:child_process';
import path from 'node:path';
import { repositoryRoot } from '@gatehouse/local/settings';
import { parse, parseAllDocuments } from 'yaml';
import { readFileSync } from 'node:fs';
import type { Manifest } from './manifests.ts';

export const chart = path.join(repositoryRoot, 'charts/gatehouse');

/** Values as an operator writes them. */
export type Values = Record<string, unknown>;

/** Values that every installation needs. */
export const required: Values = {
  database: { existingSecret: 'owner-database' },
  image: { registry: 'registry.example.com' },
};

/** The cluster that is rendered for; a Helm built from its module believes in a very old one. */
const kubeVersion = '1.35.0';

const helm = process.env.HELM ?? 'helm';

interface Rendered {
  manifests: Manifest[];
  /** The error that Helm reports; empty without one. */
  error: string;
}

function template(values: Values, from: string): Rendered {
  const { status, stdout, stderr } = spawnSync(
    helm,
    ['template', 'gatehouse', from, '--namespace', 'gateway', '--kube-version', kubeVersion, '--values', '-'],
    { input: JSON.stringify(values), encoding: 'utf8' },
  );
  if (status !== 0) return { manifests: [], error: stderr };
  const manifests = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest | null);
  return { manifests: manifests.filter((manifest) => manifest !== null), error: '' };
}

/** The objects, hooks included, that an install with these values makes in the namespace `gateway`. Throws Helm's words. */
export function render(values: Values = {}, from = chart): Manifest[] {
  const { manifests, error } = template({ ...required, ...values }, from);
  if (error !== '') throw new Error(error);
  return manifests;
}

/** Why Helm refuses these values. */
export function refusal(values: Values): string {
  return template(values, chart).error;
}

/** Runs another of Helm's commands and gives what it prints; throws when it fails. */
export function runHelm(...args: string[]): string {
  return execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A YAML file of the chart. */
export function chartFile(name: string): unknown {
  return parse(readFileSync(path.join(chart, name), 'utf8'));
}

interface Facts {
  database?: boolean;
  grpc?: boolean;
  keyRing?: boolean;
  models?: boolean;
  public?: boolean;
}

/** Facts of each service (`topology.yaml`), by its name. */
export const topology = chartFile('topology.yaml') as Record<string, Facts>;
export const serviceNames = Object.keys(topology);

/** The services or processes that run as Deployments with these values. */
export function deployedWith({ composed }: Values): Record<string, Facts> {
  return composed === true ? { composed: {} } : topology;
}
