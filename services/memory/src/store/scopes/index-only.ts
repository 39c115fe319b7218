/**
 * Settings of connections that act for tenants: everything is found by an index. With statistics of an empty table
 * PostgreSQL would scan and hash instead.
 */
export const indexOnly = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};
