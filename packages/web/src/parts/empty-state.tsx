import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface EmptyStateProps {
  title: string;
  icon?: IconName;
  /** The next step: a sentence, a link or a button. */
  children?: ComponentChildren;
}

/** An empty state of a text: its first sentence is the title. */
export function EmptyText({ text }: { text: string }) {
  const end = text.indexOf('. ') + 1;
  return end === 0 ? (
    <EmptyState title={text} />
  ) : (
    <EmptyState title={text.slice(0, end)}>{text.slice(end + 1)}</EmptyState>
  );
}

/** The place of a list or a figure without anything to show. */
export function EmptyState({ title, icon, children }: EmptyStateProps) {
  return (
    <div class="empty">
      {icon === undefined ? null : <Icon name={icon} />}
      <p class="empty-title">{title}</p>
      {typeof children === 'string' ? <p>{children}</p> : children}
    </div>
  );
}
