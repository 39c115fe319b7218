import {
  transferableTypes,
  transferModes,
  type ResourceRef,
  type TransferMode,
} from '@gatehouse/contract/transfers';
import type { Item as SentItem, Transfer as SentTransfer } from '@gatehouse/proto/participant/v1/participant';

/** The steps of a transfer in a service, in their order; `abort` in place of `commit`. */
export const transferSteps = ['lock', 'copy', 'close', 'commit', 'abort'] as const;
export type TransferStep = (typeof transferSteps)[number];

/** A resource of a transfer being carried out. */
export interface TransferItem extends ResourceRef {
  name: string;
  revision: string;
  /** `skip`: the target has it already. */
  action: TransferMode | 'skip';
  targetId: string;
  targetName: string;
}

export interface Transfer {
  id: string;
  mode: TransferMode;
  sourceTenantId: string;
  targetTenantId: string;
  includeMemory: boolean;
  includeKnowledgeGraph: boolean;
  /** Whether secrets travel. */
  withSecrets: boolean;
  items: readonly TransferItem[];
}

/** The resources of a type a transfer brings to its target, in the order in which they are locked. */
export function itemsOf({ items }: Transfer, type: TransferItem['type']): TransferItem[] {
  return items
    .filter((item) => item.type === type && item.action !== 'skip')
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** The resources of a type left in the source, because the target has them already and uses those. */
export function skippedOf({ items }: Transfer, type: TransferItem['type']): TransferItem[] {
  return items.filter((item) => item.type === type && item.action === 'skip');
}

/** Throws for what no tenant service sends. */
export function readTransfer(sent: SentTransfer | undefined): Transfer {
  if (sent === undefined) throw new Error('no transfer was sent');
  const mode = oneOf(transferModes, sent.mode);
  return {
    ...sent,
    mode,
    withSecrets: sent.withSecrets || mode === 'move',
    items: sent.items.map(readItem),
  };
}

export function readStep(sent: string): TransferStep {
  return oneOf(transferSteps, sent);
}

function readItem({ ref, action, ...item }: SentItem): TransferItem {
  if (ref === undefined) throw new Error('an item has no resource');
  return { ...item, type: oneOf(transferableTypes, ref.type), id: ref.id, action: oneOf(actions, action) };
}

const actions = [...transferModes, 'skip'] as const;

function oneOf<Known extends string>(known: readonly Known[], sent: string): Known {
  const kind = known.find((each) => each === sent);
  if (kind === undefined) throw new Error(`unknown in a transfer: ${sent}`);
  return kind;
}
