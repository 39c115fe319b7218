import { rewrapValues, type Sealed } from '@gatehouse/secrets/rewrap-job';
import type { SealedColumn } from '@gatehouse/secrets/store/sealed-value-system-store';
import type { Shell } from '@gatehouse/shell/shell';
import { contextOfObject } from './batches/sealed-object.ts';
import { contextOfContent } from './run-content/sealed-content.ts';
import { contextOfResponse } from './stored-responses/response-id.ts';

/** Columns with sealed values kept longer than a day. */
export const sealedColumns: readonly SealedColumn[] = [
  {
    ...{ table: 'responses', column: 'content', also: 'user_id' },
    context: ({ id, tenantId, also }) => contextOfResponse(id, { tenantId, userId: also }),
  },
  { table: 'run_contents', column: 'content', context: contextOfContent },
  { table: 'files', column: 'content', context: contextOfObject },
  { table: 'batches', column: 'content', context: contextOfObject },
  { table: 'batches', column: 'first_id', context: contextOfObject },
];

/** Job to wrap them again with another key once there is one. */
export function rewrapColumns(shell: Shell, sealed: Omit<Sealed, 'columns'>) {
  return rewrapValues(shell, { ...sealed, columns: sealedColumns });
}
