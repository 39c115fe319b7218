import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { innerServices, services, type ServiceEntry } from '@gatehouse/contract/services';
import { Document, isCollection } from 'yaml';

/**
 * Run by `make gen`: writes the list of services of the chart, and the names that its values accept, from
 * packages/contract/src/services.ts.
 */
const folder = path.join(import.meta.dirname, 'gatehouse');
const byName = services.toSorted((a, b) => a.name.localeCompare(b.name));

const head = `# What each service is, and which ports of which services it calls. Deployments, Services, settings, migrations and
# network policies are made by looping over this file. Made by \`make gen\` from packages/contract/src/services.ts.
`;

/** The edge forwards requests to every other service over HTTP, in addition to its gRPC calls. */
function callsOf({ public: isPublic, calls }: ServiceEntry): Record<string, string[]> {
  const callees = isPublic === true ? innerServices.toSorted() : calls;
  return Object.fromEntries(
    callees.map((callee) => [
      callee,
      [...(calls.includes(callee) ? ['grpc'] : []), ...(isPublic === true ? ['http'] : [])],
    ]),
  );
}

const write = (file: string, text: string): void => writeFileSync(path.join(folder, file), text);

const topology = new Document(
  Object.fromEntries(
    byName.map((service) => {
      const { name, publishes: _published, sends: _sent, consumes: _consumed, ...facts } = service;
      return [name, { ...facts, calls: callsOf(service) }];
    }),
  ),
);
for (const { name } of byName) {
  const calls = topology.getIn([name, 'calls'], true);
  if (isCollection(calls)) calls.flow = true;
}
write('topology.yaml', head + topology.toString());

interface Schema {
  properties: { services: { properties: Record<string, unknown> } };
}
const schema = JSON.parse(readFileSync(path.join(folder, 'values.schema.json'), 'utf8')) as Schema;
schema.properties.services.properties = Object.fromEntries(
  [...byName.map(({ name }) => name), 'composed']
    .toSorted()
    .map((name) => [name, { $ref: '#/definitions/service' }]),
);
write('values.schema.json', JSON.stringify(schema, null, 2));
