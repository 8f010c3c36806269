// Deliveries as their rows are read: for operators, and for dispatching.

export const SELECT_DELIVERY = `
  SELECT d.id, d.event_id, e.type AS event_type, t.id AS destination_id, d.subscription_id, d.status, d.dead_reason,
         d.origin, d.attempt_count, d.response_codes, d.due_at, d.updated_at, d.completed_at,
         t.status AS is_paused, t.deleted_at, h.held_until
  FROM deliveries d
  JOIN destinations t ON t.key = d.destination
  JOIN events e ON e.environment = d.environment AND e.id = d.event_id
  LEFT JOIN destination_health h ON h.destination = d.destination
  WHERE d.id = ? AND d.environment = ?`;

export const STATE_COLUMNS = `
  d.status, d.dead_reason, d.completed_at, d.due_at, d.scheduled_at, d.fallback_status, d.schedule_position`;

export const OPEN_COLUMNS = `d.id, d.environment, d.event_id, d.rev, d.attempt_count, ${STATE_COLUMNS}`;

export const SELECT_OPEN = `
  SELECT ${OPEN_COLUMNS}, t.id AS destination_id
  FROM deliveries d JOIN destinations t ON t.key = d.destination
  WHERE d.id = ?`;
