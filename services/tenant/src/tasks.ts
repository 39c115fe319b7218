import { deletionTasks } from './deletions/deletion-tasks.ts';
import { transferTask } from './transfers/transfer.ts';

/** The background jobs of all features. */
export const tasks = { ...deletionTasks, transfer: transferTask };
