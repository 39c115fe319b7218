import type { Shell } from '@gatehouse/shell/shell';
import { runStep } from '@gatehouse/transfers/run-step';
import { cleanUp } from '@gatehouse/pg/clean-up-store';
import { oldTransfers } from '@gatehouse/transfers/store/transfer-state';
import { sealedColumn } from '../secrets/sealed-column.ts';
import type { Ground } from '../ground.ts';
import { describeTransfer } from './describe-transfer-rpc.ts';
import { AgentSteps } from './run-step-rpc.ts';
import { AgentTransferStore } from './transfer-store.ts';

/** The part of agents and MCP servers in transfers between tenants. */
export function createTransfers({ log }: Shell, { config, app, system }: Ground) {
  const keyRing = config.SECRETS_KEYRING;
  const { steps } = new AgentSteps({
    servers: sealedColumn(keyRing, 'mcp_servers'),
    logins: sealedColumn(keyRing, 'mcp_logins'),
  });
  return {
    rpcs: {
      describe: describeTransfer(new AgentTransferStore(app)),
      runStep: runStep({ service: 'agent', app, steps }),
    },
    parts: cleanUp(log, system, [oldTransfers('agent')]),
  };
}
