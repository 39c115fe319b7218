import { hash } from 'node:crypto';
import type { ListToolsRequest, ListToolsResponse, Tool } from '@gatehouse/proto/agent/v1/agent';

/** The list of the agent service for every agent with tools in its settings. */
export class ToolLists {
  tools: Tool[] = [];
  missing: string[] = [];
  /** Whether each call asked for the revision alone. */
  readonly asked: boolean[] = [];

  answer({ revisionOnly }: ListToolsRequest): Promise<ListToolsResponse> {
    this.asked.push(revisionOnly);
    const revision = hash('sha256', JSON.stringify([this.tools, this.missing]));
    const { tools, missing } = revisionOnly ? { tools: [], missing: [] } : this;
    return Promise.resolve({ revision, tools, missing });
  }
}
