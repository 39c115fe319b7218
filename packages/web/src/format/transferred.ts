import type { TransferableType } from '@gatehouse/contract/transfers';

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

/** The resources of texts; a text of another form is left out. */
export function resourcesIn(texts: readonly ResourceText[]): { type: TransferableType; id: string }[] {
  return texts.flatMap((text) => {
    const [name = '', id = ''] = text.trim().split(/\s+/);
    const type = (Object.keys(transferableTypes) as TransferableType[]).find((known) => known === name);
    return type === undefined || id === '' ? [] : [{ type, id }];
  });
}
