/** Stands for the tenant in rows of the owner. */
export const platformId = '00000000-0000-0000-0000-000000000000';
