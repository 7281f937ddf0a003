-- +goose Up

-- What an operator has settled of the incidents.
CREATE TABLE @withdrawal_acknowledgements (
	withdrawal_request_id {uuid} NOT NULL,
	tx_hash {text} NOT NULL,
	claim {text} NOT NULL,
	block_hash {text} NOT NULL,
	actor {text} NOT NULL,
	role {text} NOT NULL,
	reason {text} NOT NULL,
	at {time} NOT NULL,
	PRIMARY KEY (withdrawal_request_id, tx_hash, claim, block_hash),
	FOREIGN KEY (withdrawal_request_id, tx_hash, claim, block_hash) REFERENCES @withdrawal_incidents (withdrawal_request_id, tx_hash, claim, block_hash)
) {strict};

{append only withdrawal_acknowledgements}
{insert or ignore withdrawal_acknowledgements: withdrawal_request_id, tx_hash, claim, block_hash}

-- The journal of what people tried and were refused.
CREATE TABLE @withdrawal_refusals (
	id {id},
	withdrawal_request_id {uuid} NOT NULL,
	event {text} NOT NULL,
	actor {text} NOT NULL,
	role {text} NOT NULL,
	at {time} NOT NULL,
	error {text} NOT NULL
) {strict};

{append only withdrawal_refusals}
{insert or ignore withdrawal_refusals: id}

-- +goose Down
DROP TABLE @withdrawal_refusals;
DROP TABLE @withdrawal_acknowledgements;
