import { cutText } from '@gatehouse/events/cut-text';
import type { NewAlert } from '@gatehouse/events/alert-event';
import { newId } from '@gatehouse/kit/ids';
import type { McpServerHead } from './mcp-server.ts';
import { digestOf, type ToolChange } from './tool-review.ts';
import { maxAlertChars, maxAlerts } from '../bounds.ts';

/** Alerts for tools with a changed definition; `userId` is null for the list of all users. */
export function changedToolAlerts(
  { id, name, tenantId }: McpServerHead,
  userId: string | null,
  changes: readonly ToolChange[],
): NewAlert[] {
  return changes.slice(0, maxAlerts).map(({ tool, accepted }) => {
    const data = {
      ...{ mcp_server_id: id, name, user_id: userId, tool: tool.name, digest: digestOf(tool) },
      description: cutText(tool.description, maxAlertChars),
      accepted_description: accepted && cutText(accepted.description, maxAlertChars),
    };
    return { id: newId(), tenant_id: tenantId, type: 'mcp.tool_changed', data };
  });
}
