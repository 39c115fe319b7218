import type { TransferableType } from '@gatehouse/contract/transfers';
import { unreadable } from '../api/api-error.ts';
import { trimmed } from './changes.ts';

/** The types of transferable resources, with their labels. */
export const transferableTypes: Record<TransferableType, string> = {
  agent: 'Agent',
  mcp_server: 'MCP server',
  channel_instance: 'Channel',
  webhook_endpoint: 'Webhook',
};

/** A resource as one text: `agent 0198c2b7-…`. */
export type ResourceText = string;

export function resourceText(type: TransferableType, id: string): ResourceText {
  return `${type} ${id}`;
}

/** The needs of resources. */
export type Needs = ReadonlyMap<ResourceText, readonly ResourceText[]>;

/** The next choice of resources: an added one brings everything it needs, and one taken away stays away. */
export function chosenWithNeeds(
  before: readonly ResourceText[],
  next: readonly ResourceText[],
  needs: Needs,
): ResourceText[] {
  const added = new Set(next.filter((resource) => !before.includes(resource)));
  // A set is read to its end, with everything added meanwhile.
  for (const resource of added) for (const needed of needs.get(resource) ?? []) added.add(needed);
  return [...new Set([...next, ...added])];
}

/** The resources of texts. Throws an `ApiError` about a text of another form. */
export function resourcesIn(texts: readonly ResourceText[]): { type: TransferableType; id: string }[] {
  return trimmed(texts).map((text) => {
    const [name, id, ...others] = text.split(/\s+/);
    const type = (Object.keys(transferableTypes) as TransferableType[]).find((known) => known === name);
    if (type === undefined || id === undefined || others.length > 0)
      throw unreadable('resources', `“${text}” is no resource. Write TYPE ID, such as agent 0198c2b7-….`);
    return { type, id };
  });
}
