-- For folds, and for summaries of one tenant's runs that are not folded yet. Apart from 0002, because it reads all traces.
create index traces_fold_idx on analytics.traces (fold, tenant_id) where fold is not null;
