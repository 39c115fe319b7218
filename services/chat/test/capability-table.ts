import type { DialectName } from '@gatehouse/contract/dialects';
import { capabilities } from './capabilities.ts';
import { effectOf, targets, type Capability, type TargetName } from './capability-effect.ts';

/** The table of `docs/tenants/dialects.md`. */

export const [begin, end] = ['<!-- capabilities: made by `make gen` -->', '<!-- /capabilities -->'];

export async function capabilityTable(): Promise<string> {
  const names = Object.keys(targets) as TargetName[];
  const rows = await Promise.all(
    capabilities.map(async (capability) => [
      capability.name,
      ...(await Promise.all(names.map((target) => cell(capability, target)))),
    ]),
  );
  const lines = [['Asked for', ...names.map(heading)], ['---', ...names.map(() => '---')], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function heading(target: TargetName): string {
  return target.replace(/^\w+/, (api) => `\`${api}\``);
}

/** One word where all clients of other APIs get the same, else the exceptions beside it. */
async function cell(capability: Capability, target: TargetName): Promise<string> {
  const { api } = targets[target];
  const clients = (Object.keys(capability.asked) as DialectName[]).filter((client) => client !== api);
  const effects = await Promise.all(
    clients.map(async (client) => ({ client, effect: await effectOf(client, target, capability) })),
  );
  const byEffect = Map.groupBy(effects, ({ effect }) => effect);
  const [most, ...others] = [...byEffect].toSorted(([, a], [, b]) => b.length - a.length);
  if (most === undefined) return '–';
  const exceptions = others.map(
    ([effect, of]) => `${effect} from ${of.map(({ client }) => `\`${client}\``).join(', ')}`,
  );
  return [most[0], ...exceptions].join('; ');
}
