import { cutText } from '@gatehouse/events/cut-text';
import type { NewAlert } from '@gatehouse/events/alert-event';
import { newId } from '@gatehouse/kit/ids';
import type { McpServerHead } from './mcp-server.ts';
import { digestOf, type ToolChange } from './tool-review.ts';

/** Alerts of one list; the API shows all changes. */
const maxAlerts = 20;
/** The length of a description in an event. */
const maxDescriptionChars = 1_000;

/** The alerts for tools whose definition has changed; `userId` is null for the list of all users. */
export function changedToolAlerts(
  { id, name, tenantId }: McpServerHead,
  userId: string | null,
  changes: readonly ToolChange[],
): NewAlert[] {
  return changes.slice(0, maxAlerts).map(({ tool, accepted }) => {
    const data = {
      ...{ mcp_server_id: id, name, user_id: userId, tool: tool.name, digest: digestOf(tool) },
      description: cutText(tool.description, maxDescriptionChars),
      accepted_description: accepted && cutText(accepted.description, maxDescriptionChars),
    };
    return { id: newId(), tenant_id: tenantId, type: 'mcp.tool_changed', data };
  });
}
