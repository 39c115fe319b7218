/** A tenant's columns under their names in `Tenant`. */
export const tenantColumns = `
  id, slug, name, status, limits, memory_limits as "memoryLimits", budget, allowed_models as "allowedModels", timezone,
  retention_days as "retentionDays",
  json_build_object('enabled', previews_enabled, 'max_chars', previews_max_chars) as previews,
  json_build_object('enabled', user_keys_enabled, 'max', user_keys_max, 'max_days', user_keys_max_days) as "userKeys",
  created_at as "createdAt", updated_at as "updatedAt"`;
