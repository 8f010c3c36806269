-- Which headers carry a signature: 0, those of Standard Webhooks; 1, those of Svix beside them.
ALTER TABLE destinations ADD COLUMN signature_style smallint NOT NULL DEFAULT 0;
-- A statement of its own: Citus adds no column together with a constraint.
ALTER TABLE destinations ADD CONSTRAINT destinations_signature_style CHECK (signature_style IN (0, 1));
