import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { repositoryRoot } from '@gatehouse/local/settings';
import { Ajv, type AnySchemaObject, type ValidateFunction } from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';
import type { Manifest } from './manifests.ts';

/** The package that declares the kinds of an API group; Kubernetes itself unless named here. */
const declaredBy: Readonly<Record<string, string>> = {
  'cert-manager.io': '@kubernetes-models/cert-manager',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

const strict = new Map<string, ValidateFunction>();

/**
 * Problems that the API server, with strict field validation, would report of an object. `kubernetes-models` brings the
 * OpenAPI document of Kubernetes in two forms: its validators know formats and whole numbers, and let unknown fields
 * pass; from its declarations comes a JSON Schema that does not.
 */
export async function schemaProblems(manifest: Manifest): Promise<string[]> {
  const { apiVersion, kind } = manifest;
  const specifier = `${declaredBy[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models'}/${apiVersion}/${kind}`;
  const validate = strict.get(specifier) ?? strictValidator(specifier, kind);
  strict.set(specifier, validate);
  const problems = validate(manifest)
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, message, params }) => `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
      );
  const module = (await import(specifier)) as Record<string, new (data: Manifest) => { validate(): void }>;
  const Model = module[kind];
  if (Model === undefined) throw new Error(`${specifier} has no ${kind}`);
  try {
    new Model(manifest).validate();
  } catch (error) {
    problems.push((error as Error).message);
  }
  return problems;
}

function strictValidator(specifier: string, kind: string): ValidateFunction {
  const schema = createGenerator({
    path: fileURLToPath(import.meta.resolve(specifier)).replace(/\.js$/, '.d.ts'),
    tsconfig: path.join(repositoryRoot, 'tsconfig.json'),
    // Types of cert-manager have names that two of its files declare, so that none may be shared.
    expose: specifier.startsWith('@kubernetes-models/cert-manager/') ? 'none' : 'all',
    jsDoc: 'none',
    additionalProperties: false,
    skipTypeCheck: true,
  }).createSchema(`I${kind}`);
  return new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema as AnySchemaObject);
}
