/** A file or folder of a state folder that backups have. */
export interface StatePart {
  name: string;
  isOptional: boolean;
}

/**
 * In the order of a restore: data without its secrets is no state, secrets without data are replaced by another restore.
 */
export const stateParts: readonly StatePart[] = [
  { name: 'credentials.json', isOptional: true },
  { name: 'secrets.json', isOptional: false },
  { name: 'postgres.password', isOptional: false },
  { name: 'postgres', isOptional: false },
];
